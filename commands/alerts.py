"""`operant alerts`: who is told when something happens to a run."""

from __future__ import annotations

import click


@click.command("alerts")
@click.option("--try", "is_trial", is_flag=True, help="Tell each of them that this is a trial.")
def command(is_trial: bool) -> None:
    """Who is told of alerts, and of runs that finish, crash or stall.

    Shows the rules, commands and webhooks of your own settings, alerts.toml, or what is wrong with
    them; docs/alerts.md says what may stand there. No run can add to them.
    """
    from ..monitor.look.formatting import format_duration
    from ..monitor.telling.settings import alert_settings_path, load_alert_settings
    from ..monitor.telling.trial import tell_on_trial
    from ..shared.errors import OperantError, UsageError
    from .output import print_line

    path = alert_settings_path()
    settings = load_alert_settings(path)
    for problem in settings.problems:
        raise UsageError(problem)
    if not path.exists():
        if is_trial:
            raise UsageError(
                f"nobody to send a test to: {path} does not exist (docs/alerts.md has an example)"
            )
        print_line(f"no alerts are sent: {path} does not exist (docs/alerts.md has an example)")
    for rule in settings.rules:
        print_line(f"rule  {rule.text}")
    if settings.receivers:
        print_line(f"a stalled run is reported after {format_duration(settings.stall_after_s)}")
    num_failed = 0
    for receiver in settings.receivers:
        print_line(f"{receiver.name}  on {', '.join(sorted(receiver.on))}")
        if is_trial:
            problem = tell_on_trial(receiver)
            num_failed += bool(problem)
            print_line(f"  {problem or 'told'}")
    if is_trial and not settings.receivers:
        raise UsageError(f"nobody to try: {path} has no [[tell]] with a command or a webhook")
    if num_failed:
        raise OperantError(f"{num_failed} of {len(settings.receivers)} were not told")
