// Dekker's algorithm (Calvin, 6.1): each thread alone, a step of the other between its own; hand-encoded.
var a1: bool;
var a2: bool;
var cs1: bool;
var cs2: bool;

function I(a1: bool, a2: bool, cs1: bool, cs2: bool): bool { !(cs1 && cs2) && (cs1 ==> a1) && (cs2 ==> a2) }

procedure Start(a1: bool, a2: bool) { assert I(a1, a2, false, false); }

procedure OthersOfOne();
  modifies a1, a2, cs1, cs2;
  ensures a1 == old(a1) && cs1 == old(cs1) && I(a1, a2, cs1, cs2);

procedure OthersOfTwo();
  modifies a1, a2, cs1, cs2;
  ensures a2 == old(a2) && cs2 == old(cs2) && I(a1, a2, cs1, cs2);

procedure One()
  modifies a1, a2, cs1, cs2;
  requires I(a1, a2, cs1, cs2) && !cs1;
{
  var b2: bool; var d2: bool;
  while (true) invariant I(a1, a2, cs1, cs2) && !cs1; {
    call OthersOfOne(); b2 := a2; d2 := cs2; a1 := true; assert a2 == b2 && cs2 == d2 && I(a1, a2, cs1, cs2);
    call OthersOfOne(); b2 := a2; d2 := cs2; cs1 := !a2; assert a2 == b2 && cs2 == d2 && I(a1, a2, cs1, cs2);
    call OthersOfOne();
    if (cs1) {
      call OthersOfOne(); b2 := a2; d2 := cs2; cs1 := false; assert a2 == b2 && cs2 == d2 && I(a1, a2, cs1, cs2);
    }
    call OthersOfOne(); b2 := a2; d2 := cs2; a1 := false; assert a2 == b2 && cs2 == d2 && I(a1, a2, cs1, cs2);
    call OthersOfOne();
  }
}

procedure Two()
  modifies a1, a2, cs1, cs2;
  requires I(a1, a2, cs1, cs2) && !cs2;
{
  var b1: bool; var d1: bool;
  while (true) invariant I(a1, a2, cs1, cs2) && !cs2; {
    call OthersOfTwo(); b1 := a1; d1 := cs1; a2 := true; assert a1 == b1 && cs1 == d1 && I(a1, a2, cs1, cs2);
    call OthersOfTwo(); b1 := a1; d1 := cs1; cs2 := !a1; assert a1 == b1 && cs1 == d1 && I(a1, a2, cs1, cs2);
    call OthersOfTwo();
    if (cs2) {
      call OthersOfTwo(); b1 := a1; d1 := cs1; cs2 := false; assert a1 == b1 && cs1 == d1 && I(a1, a2, cs1, cs2);
    }
    call OthersOfTwo(); b1 := a1; d1 := cs1; a2 := false; assert a1 == b1 && cs1 == d1 && I(a1, a2, cs1, cs2);
    call OthersOfTwo();
  }
}
