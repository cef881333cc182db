package archtest

import "testing"

// pendingFile may look at the text of errors: cel-go has no types for what goes wrong at run time. A test beside it
// compares the texts with the real library.
const pendingFile = "pkg/celrules/pending.go"

func TestNoDecisionHangsOnTheTextOfAnError(t *testing.T) {
	t.Parallel()
	for _, file := range allSources(t) {
		if file.isTest() || file.path == pendingFile {
			continue
		}
		found, err := errorTextDecisions(file.path, file.content)
		if err != nil {
			t.Errorf("%s: %v", file.path, err)
		}
		for _, place := range found {
			t.Errorf("%s decides on the text of an error: use errors.Is or errors.As", place)
		}
	}
}

func TestErrorTextDecisions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		body string
		want int
	}{
		"contains":                        {body: `_ = strings.Contains(err.Error(), "gone")`, want: 1},
		"prefix of a field's error":       {body: `_ = strings.HasPrefix(r.err.Error(), "gone")`, want: 1},
		"lower case first":                {body: `_ = strings.Contains(strings.ToLower(err.Error()), "gone")`, want: 1},
		"as bytes":                        {body: `_ = bytes.Contains([]byte(err.Error()), nil)`, want: 1},
		"equal":                           {body: `_ = err.Error() == "EOF"`, want: 1},
		"not equal, the other way round":  {body: `_ = "EOF" != err.Error()`, want: 1},
		"switch":                          {body: `switch err.Error() { case "EOF": }`, want: 1},
		"regular expression":              {body: `_ = pattern.MatchString(err.Error())`, want: 1},
		"two on a line":                   {body: `_ = err.Error() == "a" || err.Error() == "b"`, want: 2},
		"the same words as last time":     {body: `_ = err.Error() != last.Error()`},
		"by type":                         {body: `_ = errors.Is(err, io.EOF)`},
		"printed":                         {body: `fmt.Println(err.Error())`},
		"cleaned for a status":            {body: `_ = strings.ToValidUTF8(err.Error(), "?")`},
		"a method Error with an argument": {body: `_ = log.Error("x") == nil`},
		"text of something else":          {body: `_ = strings.Contains(response.Body(), "gone")`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := errorTextDecisions("x.go", "package x\nfunc f() {\n"+tc.body+"\n}\n")
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != tc.want {
				t.Errorf("want %d, found %v", tc.want, found)
			}
		})
	}
}
