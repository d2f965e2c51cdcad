package promcheck

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// dashboard holds the parts of a Grafana dashboard that are checked.
type dashboard struct {
	Title  string
	Panels []struct {
		ID      int
		Title   string
		Type    string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr string }
	}
}

// grafana are the variables that Grafana fills in.
var grafana = strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*")

func TestDashboardsExpressionsParse(t *testing.T) {
	text, err := os.ReadFile("../../deploy/grafana/tend.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	ids, expressions := map[int]bool{}, 0
	for _, panel := range d.Panels {
		if ids[panel.ID] {
			t.Errorf("two panels have the id %d", panel.ID)
		}
		ids[panel.ID] = true
		if panel.GridPos.X+panel.GridPos.W > 24 {
			t.Errorf("%s is wider than the dashboard", panel.Title)
		}
		if panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("%s shows nothing", panel.Title)
		}
		for _, target := range panel.Targets {
			expressions++
			if _, err := parsing.ParseExpr(grafana.Replace(target.Expr)); err != nil {
				t.Errorf("%s: %s: %v", panel.Title, target.Expr, err)
			}
		}
	}
	if expressions < 30 {
		t.Errorf("only %d expressions were found", expressions)
	}
}
