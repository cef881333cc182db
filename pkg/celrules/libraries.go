package celrules

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/ext"
	"k8s.io/apiserver/pkg/cel/library"
)

// baseEnvironment gives the environment without variables that all environments extend. It is built once, when it is first
// needed, since that takes several milliseconds and a hundred kilobytes, and never changed after.
var baseEnvironment = sync.OnceValues(buildBase)

func buildBase() (*cel.Env, error) {
	unguarded, err := cel.NewEnv(append(languageOptions(), libraryOptions()...)...)
	if err != nil {
		return nil, fmt.Errorf("libraries: %w", err)
	}
	guarded, err := guardOptions(unguarded)
	if err != nil {
		return nil, err
	}
	return unguarded.Extend(guarded...)
}

// languageOptions are what differs from plain CEL. Lists and maps may mix types, as JSON bodies do.
func languageOptions() []cel.EnvOption {
	return []cel.EnvOption{
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.EnableIdentifierEscapeSyntax(),
		cel.ParserExpressionSizeLimit(MaxSourceLength),
		cel.RegexProgramSizeLimit(maxRegexProgram),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals()),
		cel.CostEstimatorOptions(checker.PresenceTestHasCost(false)),
	}
}

// libraryOptions are the functions. Every version is pinned: an expression keeps its meaning when a library is updated.
func libraryOptions() []cel.EnvOption {
	options := []cel.EnvOption{
		cel.OptionalTypes(cel.OptionalTypesVersion(2)),

		library.Lists(library.ListsVersion(1)),
		library.URLs(),
		library.Regex(),
		library.Quantity(),
		library.IP(),
		library.CIDR(),
		library.Format(),
		library.SemverLib(library.SemverVersion(1)),

		ext.Strings(ext.StringsVersion(4), ext.StringsMaxPrecision(maxPrecision)),
		ext.Encoders(ext.EncodersVersion(1)),
		ext.Math(ext.MathVersion(2)),
		ext.Sets(ext.SetsVersion(1)),
		ext.Lists(ext.ListsVersion(3), ext.ListsMaxRangeSize(maxRange)),
		ext.Bindings(ext.BindingsVersion(1)),
		ext.TwoVarComprehensions(ext.TwoVarComprehensionsVersion(1)),
	}
	for _, f := range ownFunctions() {
		options = append(options, f.option())
	}
	return options
}
