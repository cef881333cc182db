package mapping

import (
	"strings"
	"testing"

	"github.com/restmapping/operator/api/v1alpha1"
)

func TestEqualValues(t *testing.T) {
	t.Parallel()
	const (
		exact  = v1alpha1.CompareExact
		set    = v1alpha1.CompareSet
		folded = v1alpha1.CompareCaseInsensitive
		number = v1alpha1.CompareNumber
		whole  = v1alpha1.CompareWhole
		size   = v1alpha1.CompareQuantity
		moment = v1alpha1.CompareTimestamp
	)
	cases := map[string]struct {
		mode              v1alpha1.Compare
		desired, observed string
		want              bool
	}{
		"equal text":                                   {exact, `"a"`, `"a"`, true},
		"other text":                                   {exact, `"a"`, `"A"`, false},
		"a whole number and a double":                  {exact, `1`, `1.0`, true},
		"numbers that a double would confuse":          {exact, `9007199254740993`, `9007199254740992`, false},
		"a double between two whole numbers":           {exact, `9007199254740993`, `9007199254740992.0`, false},
		"a number beyond int64":                        {exact, `18446744073709551615`, `18446744073709551615`, true},
		"a number and its text":                        {exact, `1`, `"1"`, false},
		"booleans":                                     {exact, `true`, `false`, false},
		"false and absent":                             {exact, `false`, `null`, false},
		"zero and absent":                              {exact, `0`, `null`, false},
		"empty text and absent":                        {exact, `""`, `null`, true},
		"empty list and absent":                        {exact, `[]`, `null`, true},
		"empty object and absent":                      {exact, `{}`, `null`, true},
		"text and absent":                              {exact, `"a"`, `null`, false},
		"empty list and a list":                        {exact, `[]`, `[1]`, false},
		"empty text and text":                          {exact, `""`, `"a"`, false},
		"keys the server added":                        {exact, `{"a":1}`, `{"a":1,"id":5}`, true},
		"keys the server added below":                  {exact, `{"a":{"b":1}}`, `{"a":{"b":1,"c":2}}`, true},
		"a key that the server lacks":                  {exact, `{"a":1,"b":2}`, `{"a":1}`, false},
		"a null key that the server lacks":             {exact, `{"a":1,"b":null}`, `{"a":1}`, true},
		"a null key that the server has":               {exact, `{"b":null}`, `{"b":1}`, false},
		"an empty key that the server leaves out":      {exact, `{"a":1,"b":[]}`, `{"a":1}`, true},
		"an object and text":                           {exact, `{"a":1}`, `"x"`, false},
		"lists in order":                               {exact, `[1,2]`, `[1,2]`, true},
		"lists out of order":                           {exact, `[1,2]`, `[2,1]`, false},
		"lists of other lengths":                       {exact, `[1]`, `[1,2]`, false},
		"a list and an object":                         {exact, `[1]`, `{"0":1}`, false},
		"elements with keys the server added":          {exact, `[{"n":"a"}]`, `[{"n":"a","id":1}]`, true},
		"a set out of order":                           {set, `["a","b"]`, `["b","a"]`, true},
		"a set with repetition":                        {set, `["a","a"]`, `["a"]`, true},
		"a set with repetition outside":                {set, `["a"]`, `["a","a"]`, true},
		"a set that lacks one":                         {set, `["a","b"]`, `["a"]`, false},
		"a set with one too many":                      {set, `["a"]`, `["a","b"]`, false},
		"an empty set and absent":                      {set, `[]`, `null`, true},
		"a set of objects with additions":              {set, `[{"n":1},{"n":2}]`, `[{"n":2,"id":9},{"n":1,"id":8}]`, true},
		"a set of objects that lacks one":              {set, `[{"n":1},{"n":3}]`, `[{"n":2,"id":9},{"n":1,"id":8}]`, false},
		"a set of objects with one too many":           {set, `[{"n":1}]`, `[{"n":2},{"n":1}]`, false},
		"a set of numbers written otherwise":           {set, `[1,2]`, `[2.0,1.0]`, true},
		"a set and text":                               {set, `["a"]`, `"a"`, false},
		"a set of lists keeps the order inside":        {set, `[[1,2]]`, `[[2,1]]`, false},
		"case folded":                                  {folded, `"WestEurope"`, `"westeurope"`, true},
		"case folded in lists":                         {folded, `["A"]`, `["a"]`, true},
		"case folded and another word":                 {folded, `"a"`, `"b"`, false},
		"case does not make text of numbers":           {folded, `1`, `"1"`, false},
		"a number as text":                             {number, `1`, `"1"`, true},
		"text as a number":                             {number, `"1.50"`, `1.5`, true},
		"both text":                                    {number, `"1.0"`, `"1"`, true},
		"number inside an object":                      {number, `{"n":1}`, `{"n":"1"}`, true},
		"an exponent as text":                          {number, `1000`, `"1e3"`, true},
		"no number":                                    {number, `1`, `"one"`, false},
		"a fraction is no number of JSON":              {number, `0.5`, `"1/2"`, false},
		"hexadecimal is no number of JSON":             {number, `16`, `"0x10"`, false},
		"words that are not numbers must be the same":  {number, `"a"`, `"a"`, true},
		"an empty text is not zero":                    {number, `0`, `""`, false},
		"a null wish inside equals an absent key only": {exact, `{"a":null}`, `{"a":""}`, false},

		"a whole object":                                {whole, `{"a":1,"b":{"c":2}}`, `{"b":{"c":2},"a":1}`, true},
		"a whole object with a key more":                {whole, `{"a":1}`, `{"a":1,"id":5}`, false},
		"a whole object with a key more below":          {whole, `{"a":{"b":1}}`, `{"a":{"b":1,"c":2}}`, false},
		"a whole object with a key more in a list":      {whole, `[{"a":1}]`, `[{"a":1,"c":2}]`, false},
		"a whole object with a key less":                {whole, `{"a":1,"b":2}`, `{"a":1}`, false},
		"a whole object with another value":             {whole, `{"a":1}`, `{"a":2}`, false},
		"a whole object with keys that hold nothing":    {whole, `{"a":1}`, `{"a":1,"b":null,"c":"","d":[],"e":{}}`, true},
		"a whole object with a key that is false":       {whole, `{"a":1}`, `{"a":1,"b":false}`, false},
		"an empty whole object, and one with a key":     {whole, `{}`, `{"a":1}`, false},
		"an empty whole object and absent":              {whole, `{}`, `null`, true},
		"a quantity and its bytes":                      {size, `"1Gi"`, `1073741824`, true},
		"bytes and their quantity":                      {size, `1073741824`, `"1Gi"`, true},
		"a quantity in other units":                     {size, `"1024Mi"`, `"1Gi"`, true},
		"decimal and binary units":                      {size, `"1G"`, `"1Gi"`, false},
		"thousandths":                                   {size, `"500m"`, `0.5`, true},
		"a quantity in an object":                       {size, `{"memory":"1Ki"}`, `{"memory":"1024","cpu":1}`, true},
		"no quantity, and the same":                     {size, `"large"`, `"large"`, true},
		"no quantity, and another":                      {size, `"large"`, `"1Gi"`, false},
		"quantities that the library would cap":         {size, `"10E"`, `"11E"`, false},
		"below zero that the library would cap":         {size, `"-10E"`, `"-11E"`, false},
		"an exponent that would fill the memory":        {size, `"1e999999999"`, `"1e999999998"`, false},
		"an exponent that would fill it as a unit":      {size, `"1E999999999"`, `"1E999999998"`, false},
		"moments in two zones":                          {moment, `"2026-01-02T03:04:05Z"`, `"2026-01-02T05:04:05+02:00"`, true},
		"moments in small letters":                      {moment, `"2026-01-02T03:04:05Z"`, `"2026-01-02t03:04:05z"`, true},
		"moments an hour apart":                         {moment, `"2026-01-02T03:04:05Z"`, `"2026-01-02T03:04:05+01:00"`, false},
		"a moment and its seconds":                      {moment, `"2026-01-02T03:04:05Z"`, `1767323045`, true},
		"a moment and its seconds as text":              {moment, `"2026-01-02T03:04:05Z"`, `"1767323045"`, true},
		"a moment and its milliseconds":                 {moment, `"2026-01-02T03:04:05.250Z"`, `1767323045250`, true},
		"a moment and its seconds with a fraction":      {moment, `"2026-01-02T03:04:05.250Z"`, `1767323045.25`, true},
		"a fraction that no double holds":               {moment, `"2026-01-02T03:04:05.123456Z"`, `1767323045.123456`, true},
		"a second later":                                {moment, `"2026-01-02T03:04:05Z"`, `1767323046`, false},
		"a millisecond later":                           {moment, `"2026-01-02T03:04:05.250Z"`, `1767323045251`, false},
		"a server that keeps seconds":                   {moment, `"2026-01-02T03:04:05.999Z"`, `1767323045`, true},
		"a server that keeps microseconds":              {moment, `"2026-01-02T03:04:05.123456789Z"`, `"2026-01-02T03:04:05.123456Z"`, true},
		"a server that adds zeros":                      {moment, `"2026-01-02T03:04:05Z"`, `"2026-01-02T03:04:05.000000Z"`, true},
		"before 1970":                                   {moment, `"1969-12-31T23:59:58.5Z"`, `-1.5`, true},
		"no moment, and the same":                       {moment, `"never"`, `"never"`, true},
		"no moment, and another":                        {moment, `"never"`, `"2026-01-02T03:04:05Z"`, false},
		"numbers beyond the year 9999 are only numbers": {moment, `1767323045000000000`, `1767323045000000001`, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := equalValues(tc.mode, object(t, tc.desired), object(t, tc.observed)); got != tc.want {
				t.Errorf("%s: %s against %s: got %v", tc.mode, tc.desired, tc.observed, got)
			}
		})
	}
}

func TestNumberTextIsBounded(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1e999999999", "1e-99999", strings.Repeat("9", maxNumberText+1)} {
		if asNumber(text, v1alpha1.CompareNumber) != nil {
			t.Errorf("%.20s was read as a number", text)
		}
	}
}

func TestLongSetsAreComparedQuickly(t *testing.T) {
	t.Parallel()
	const n = 50_000 // pair by pair this would be billions of comparisons
	desired, observed := make([]any, n), make([]any, n)
	for i := range n {
		desired[i], observed[n-1-i] = int64(i), int64(i)
	}
	if !equalValues(v1alpha1.CompareSet, desired, observed) {
		t.Error("the sets are equal")
	}
}

func TestEqualByKey(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		desired, observed string
		want              bool
	}{
		"another order":                         {`[{"name":"a","v":1},{"name":"b","v":2}]`, `[{"name":"b","v":2},{"name":"a","v":1}]`, true},
		"keys that the server added":            {`[{"name":"a"}]`, `[{"name":"a","id":7}]`, true},
		"another value":                         {`[{"name":"a","v":1}]`, `[{"name":"a","v":2}]`, false},
		"an element less":                       {`[{"name":"a"},{"name":"b"}]`, `[{"name":"a"}]`, false},
		"an element more":                       {`[{"name":"a"}]`, `[{"name":"a"},{"name":"b"}]`, false},
		"another key":                           {`[{"name":"a"}]`, `[{"name":"b"}]`, false},
		"keys that are numbers":                 {`[{"name":2},{"name":1}]`, `[{"name":1},{"name":2.0}]`, true},
		"one key twice at the server":           {`[{"name":"a"},{"name":"b"}]`, `[{"name":"a"},{"name":"a"}]`, false},
		"no key at the server":                  {`[{"name":"a"}]`, `[{"id":1}]`, false},
		"text at the server":                    {`[{"name":"a"}]`, `["a"]`, false},
		"an object at the server":               {`[{"name":"a"}]`, `{"name":"a"}`, false},
		"nothing, and absent":                   {`[]`, `null`, true},
		"nothing, and empty":                    {`[]`, `[]`, true},
		"something, and absent":                 {`[{"name":"a"}]`, `null`, false},
		"what is no list with keys never equal": {`["a"]`, `["a"]`, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := equalByKey("name", object(t, tc.desired), object(t, tc.observed)); got != tc.want {
				t.Errorf("%s against %s: got %v", tc.desired, tc.observed, got)
			}
		})
	}
}
