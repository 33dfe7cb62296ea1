"""What people watch a run with: pure code formats and draws, widgets show, one poller reads."""
