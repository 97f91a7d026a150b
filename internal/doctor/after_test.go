package doctor

import "testing"

func TestIDAfterIsTheNextInOrder(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"01a22a04-291c-7698-af32-471acaf5302d": "01a22a04-291c-7698-af32-471acaf5302e",
		"01a22a04-291c-7698-af32-471acaf53029": "01a22a04-291c-7698-af32-471acaf5302a",
		"01a22a04-291c-7698-af32-ffffffffffff": "01a22a04-291c-7698-af33-000000000000",
		"ffffffff-ffff-ffff-ffff-ffffffffffff": "",
	} {
		if got := after(id); got != want {
			t.Errorf("%s is followed by %s; want %s", id, got, want)
		}
	}
}
