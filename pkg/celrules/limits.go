package celrules

// The limits of compilation and evaluation.
const (
	// ExpressionLimit is the cost one evaluation may have. It is about a tenth of a second.
	ExpressionLimit uint64 = 1_000_000
	// DefaultBudget is the cost all evaluations of one pass may have together.
	DefaultBudget uint64 = 10_000_000
	// WarningCost is the estimated cost from which an expression gets a warning.
	WarningCost uint64 = 10_000_000
	// MaxSourceLength is how many characters an expression may have.
	MaxSourceLength = 16 * 1024
	// MaxResultBytes is how much text a result may hold, keys included.
	MaxResultBytes = 1 << 20
	// MaxResultNodes is how many values a result may hold, counting every element at every level.
	MaxResultNodes = 100_000
	// MaxResultDepth is how deep a result may be nested.
	MaxResultDepth = 200

	// maxText is how much text one function call may build.
	maxText = 4 << 20
	// maxWeight is how many values one function call may go through, and charactersPerStep how many characters count as one:
	// the text is the same as maxText.
	maxWeight         = maxText / charactersPerStep
	charactersPerStep = 4
	// maxList is how many elements a list may have that + builds.
	maxList = 1_000_000
	// maxSteps is how many elementary steps one function call may take: about a tenth of a second.
	maxSteps = 50_000_000
	// maxRegexProgram is how many steps the pattern of matches may compile to.
	maxRegexProgram = 5000
	// maxRange is how many numbers lists.range may give.
	maxRange = 100_000
	// maxPrecision is how many decimals format may write.
	maxPrecision = 100
	// assumedSize is the length taken for a list or a text whose schema sets none, when a cost is estimated.
	assumedSize = 1000
	// interruptFrequency is how many comprehension steps lie between two looks at the context.
	interruptFrequency = 100
)
