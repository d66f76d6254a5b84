// Reader-writer lock (Calvin, 6.2), sets as maps to booleans: each thread alone, a step of the others between its own; hand-encoded.
const me: int;
const you: int;
axiom 0 < me && 0 < you && me != you;

var w: int;
var r: [int]bool;
var x: int;
var y: int;

function I(w: int, r: [int]bool): bool { w == 0 || (forall i: int :: !r[i]) }
function R(t: int, w0: int, r0: [int]bool, x0: int, w1: int, r1: [int]bool, x1: int): bool
{ ((w0 == t) <==> (w1 == t)) && (r0[t] <==> r1[t]) && (r0[t] ==> x1 == x0) }

procedure Start(r: [int]bool) { assume (forall i: int :: !r[i]); assert I(0, r); }
procedure Transitive(w0: int, r0: [int]bool, x0: int, w1: int, r1: [int]bool, x1: int, w2: int, r2: [int]bool, x2: int)
{
  assume R(me, w0, r0, x0, w1, r1, x1) && R(me, w1, r1, x1, w2, r2, x2);
  assert R(me, w0, r0, x0, w0, r0, x0);
  assert R(me, w0, r0, x0, w2, r2, x2);
}

procedure OthersOfReader();
  modifies w, r, x, y;
  ensures R(me, old(w), old(r), old(x), w, r, x) && y == old(y) && I(w, r);

procedure OthersOfWriter();
  modifies w, r, x, y;
  ensures R(me, old(w), old(r), old(x), w, r, x) && I(w, r);

procedure Writer()
  modifies w, r, x, y;
{
  var w0: int; var r0: [int]bool; var x0: int; var y0: int;
  call OthersOfWriter(); w0 := w; r0 := r; x0 := x; y0 := y;
  assume w == 0 && (forall i: int :: !r[i]); w := me; assert R(you, w0, r0, x0, w, r, x) && y == y0 && I(w, r);
  call OthersOfWriter(); w0 := w; r0 := r; x0 := x; y0 := y;
  x := 3; assert R(you, w0, r0, x0, w, r, x) && y == y0 && I(w, r);
  call OthersOfWriter(); w0 := w; r0 := r; x0 := x; y0 := y;
  assert w == me; w := 0; assert R(you, w0, r0, x0, w, r, x) && y == y0 && I(w, r);
}

procedure Reader()
  modifies w, r, x, y;
{
  var w0: int; var r0: [int]bool; var x0: int;
  call OthersOfReader(); w0 := w; r0 := r; x0 := x;
  assume w == 0; r := r[me := true]; assert R(you, w0, r0, x0, w, r, x) && I(w, r);
  call OthersOfReader(); w0 := w; r0 := r; x0 := x;
  y := x; assert R(you, w0, r0, x0, w, r, x) && I(w, r);
  call OthersOfReader(); assert y == x;
  call OthersOfReader(); w0 := w; r0 := r; x0 := x;
  assert r[me]; r := r[me := false]; assert R(you, w0, r0, x0, w, r, x) && I(w, r);
}
