package manager

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func TestEveryFlagIsAnEnvironmentVariableAndTheCommandLineWins(t *testing.T) {
	for name, tt := range map[string]struct {
		variable, value string
		args            []string
		want            time.Duration
		says            string
	}{
		"neither":      {want: time.Second},
		"variable":     {variable: "FIVESPOT_POD_KILL_WAIT", value: "3s", want: 3 * time.Second},
		"both":         {variable: "FIVESPOT_POD_KILL_WAIT", value: "3s", args: []string{"--pod-kill-wait=2s"}, want: 2 * time.Second},
		"garbage":      {variable: "FIVESPOT_POD_KILL_WAIT", value: "soon", says: `FIVESPOT_POD_KILL_WAIT="soon"`},
		"another name": {variable: "POD_KILL_WAIT", value: "3s", want: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			wait := flags.Duration("pod-kill-wait", time.Second, "")
			require.NoError(t, flags.Parse(tt.args))
			err := fromEnvironment(flags, func(name string) (string, bool) { return tt.value, name == tt.variable })
			if tt.says != "" {
				require.ErrorContains(t, err, tt.says)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, *wait)
		})
	}
}
