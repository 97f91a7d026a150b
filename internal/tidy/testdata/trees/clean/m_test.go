package m_test

import (
	"testing"

	"example.test/m"
)

func TestExportedNamesInTestsNeedNoComment(t *testing.T) {
	if (m.T{}).Len() != 10 {
		t.Error("no")
	}
}

type Exported struct{}
