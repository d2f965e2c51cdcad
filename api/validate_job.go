package api

import "time"

func (c *checker) job(s JobSpec) {
	c.deployment(DeploymentSpec{Container: s.Container})
	c.duration("timeout", s.Timeout, time.Second, 30*24*time.Hour)
	c.between("retries", s.Retries, 0, 10)
	c.between("successful_history_limit", s.SuccessfulHistory(), 0, 1000)
	c.between("failed_history_limit", s.FailedHistory(), 0, 1000)
}

func (c *checker) cronJob(s CronJobSpec) {
	c.job(s.JobSpec)
	if s.RunOnRelease {
		c.add("run_on_release", "is of jobs; a cron job runs when it is due")
	}
	if s.Schedule == "" {
		c.add("schedule", "is required")
	}
	c.oneOf("concurrency_policy", s.ConcurrencyPolicy, ConcurrencyAllow, ConcurrencyForbid, ConcurrencyReplace)
	c.duration("starting_deadline", s.StartingDeadline, 0, maxWait)
}
