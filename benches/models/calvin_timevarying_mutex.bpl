// Time-varying mutex (Calvin, 6.3): each thread alone, a step of the others between its own; hand-encoded.
const me: int;
const you: int;
axiom 0 < me && 0 < you && me != you;

var block: int;
var busy: bool;
var inode: bool;
var mi: int;
var mb: int;

function I(busy: bool, inode: bool, mi: int): bool { mi == 0 && inode ==> busy }
function R(t: int, k0: int, b0: bool, n0: bool, i0: int, m0: int, k1: int, b1: bool, n1: bool, i1: int, m1: int): bool
{
  (i0 == t ==> i1 == t && n1 == n0) && (m0 == t ==> m1 == t && b1 == b0) && (b0 && i0 == t ==> k1 == k0)
  && (!b0 && m0 == t ==> k1 == k0) && (i0 == t && b0 ==> b1)
}

procedure Start(b: bool) { assert I(b, b, 0); }
procedure Closed(k0: int, b0: bool, n0: bool, i0: int, m0: int, k1: int, b1: bool, n1: bool, i1: int, m1: int, k2: int, b2: bool, n2: bool, i2: int, m2: int)
{
  assert R(me, k0, b0, n0, i0, m0, k0, b0, n0, i0, m0);
  assume R(me, k0, b0, n0, i0, m0, k1, b1, n1, i1, m1) && R(me, k1, b1, n1, i1, m1, k2, b2, n2, i2, m2);
  assert R(me, k0, b0, n0, i0, m0, k2, b2, n2, i2, m2);
}

procedure Others();
  modifies block, busy, inode, mi, mb;
  ensures R(me, old(block), old(busy), old(inode), old(mi), old(mb), block, busy, inode, mi, mb) && I(busy, inode, mi);

procedure One()
  modifies block, busy, inode, mi, mb;
{
  var k: int; var b: bool; var n: bool; var i: int; var m: int;
  call Others(); k := block; b := busy; n := inode; i := mi; m := mb; assume mi == 0; mi := me; assert R(you, k, b, n, i, m, block, busy, inode, mi, mb) && I(busy, inode, mi);
  call Others();
  if (!inode) {
    call Others(); k := block; b := busy; n := inode; i := mi; m := mb; assume mb == 0; mb := me; assert R(you, k, b, n, i, m, block, busy, inode, mi, mb) && I(busy, inode, mi);
    call Others(); k := block; b := busy; n := inode; i := mi; m := mb; busy := true; assert R(you, k, b, n, i, m, block, busy, inode, mi, mb) && I(busy, inode, mi);
    call Others(); k := block; b := busy; n := inode; i := mi; m := mb; assert mb == me; mb := 0; assert R(you, k, b, n, i, m, block, busy, inode, mi, mb) && I(busy, inode, mi);
    call Others(); k := block; b := busy; n := inode; i := mi; m := mb; inode := true; assert R(you, k, b, n, i, m, block, busy, inode, mi, mb) && I(busy, inode, mi);
  }
  call Others(); k := block; b := busy; n := inode; i := mi; m := mb; block := 1; assert R(you, k, b, n, i, m, block, busy, inode, mi, mb) && I(busy, inode, mi);
  call Others(); assert block == 1;
  call Others(); k := block; b := busy; n := inode; i := mi; m := mb; assert mi == me; mi := 0; assert R(you, k, b, n, i, m, block, busy, inode, mi, mb) && I(busy, inode, mi);
}

procedure Two()
  modifies block, busy, inode, mi, mb;
{
  var k: int; var b: bool; var n: bool; var i: int; var m: int;
  call Others(); k := block; b := busy; n := inode; i := mi; m := mb; assume mb == 0; mb := me; assert R(you, k, b, n, i, m, block, busy, inode, mi, mb) && I(busy, inode, mi);
  call Others();
  if (!busy) {
    call Others(); k := block; b := busy; n := inode; i := mi; m := mb; block := 0; assert R(you, k, b, n, i, m, block, busy, inode, mi, mb) && I(busy, inode, mi);
    call Others(); assert block == 0;
  }
  call Others(); k := block; b := busy; n := inode; i := mi; m := mb; assert mb == me; mb := 0; assert R(you, k, b, n, i, m, block, busy, inode, mi, mb) && I(busy, inode, mi);
}
