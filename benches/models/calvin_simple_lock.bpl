// SimpleLock (Calvin, 4.1): each thread alone, a step of the others between its own; hand-encoded.
const me: int;
const you: int;
axiom 0 < me && 0 < you && me != you;

var x: int;
var mx: int;

// What thread t relies on.
function R(t: int, x0: int, m0: int, x1: int, m1: int): bool { m0 == t ==> m1 == t && x1 == x0 }

procedure Others();
  modifies x, mx;
  ensures R(me, old(x), old(mx), x, mx);

procedure Reflexive(a: int, m: int) { assert R(me, a, m, a, m); }
procedure Transitive(a: int, m: int, b: int, n: int, c: int, o: int)
{
  assume R(me, a, m, b, n) && R(me, b, n, c, o);
  assert R(me, a, m, c, o);
}

procedure One()
  modifies x, mx;
{
  var x0: int; var m0: int;
  call Others(); x0 := x; m0 := mx; assume mx == 0; mx := me; assert R(you, x0, m0, x, mx);
  call Others(); x0 := x; m0 := mx; x := x * x;     assert R(you, x0, m0, x, mx);
  call Others(); x0 := x; m0 := mx; x := x + 2;     assert R(you, x0, m0, x, mx);
  call Others(); assert x > 1;
  call Others(); x0 := x; m0 := mx; assert mx == me; mx := 0; assert R(you, x0, m0, x, mx);
}

procedure Two()
  modifies x, mx;
{
  var x0: int; var m0: int;
  call Others(); x0 := x; m0 := mx; assume mx == 0; mx := me; assert R(you, x0, m0, x, mx);
  call Others(); x0 := x; m0 := mx; x := 0;         assert R(you, x0, m0, x, mx);
  call Others(); x0 := x; m0 := mx; assert mx == me; mx := 0; assert R(you, x0, m0, x, mx);
}
