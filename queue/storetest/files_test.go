package storetest

import "testing"

// One seed draws the same for one name in each run, and independently for another one.
func TestOneSeedOneDraw(t *testing.T) {
	t.Setenv("SUBMITQUEUE_SEED", "7")
	same, other := 0, 0
	for range 64 {
		a := Draws("a").IntN(1000)
		if a == Draws("a").IntN(1000) {
			same++
		}
		if a == Draws("b").IntN(1000) {
			other++
		}
	}
	t.Setenv("SUBMITQUEUE_SEED", "8")
	if next := Draws("a").IntN(1 << 30); same != 64 || other == 64 || next == Draws("b").IntN(1<<30) {
		t.Errorf("the same %d times of 64, as another name %d times", same, other)
	}
	t.Setenv("SUBMITQUEUE_SEED", "")
	if x := Draws("a").Uint64(); x == Draws("a").Uint64() {
		t.Error("without a seed two runs draw the same")
	}
}
