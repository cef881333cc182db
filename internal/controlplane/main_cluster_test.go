//go:build cluster

package controlplane_test

import (
	"os"
	"testing"

	"github.com/restmapping/operator/internal/controlplane"
)

func TestMain(m *testing.M) { os.Exit(controlplane.Main(m, controlplane.Options{})) }
