"""`operant alerts`: who receives messages about runs."""

from __future__ import annotations

import click


@click.command("alerts")
@click.option("--try", "is_trial", is_flag=True, help="Send a test message to each of them.")
def command(is_trial: bool) -> None:
    """Show who receives alerts, and messages when runs finish, crash or stall.

    Prints the rules, commands and webhooks of your own settings file, alerts.toml, or its errors;
    see docs/alerts.md. Runs cannot change this file.
    """
    from ..monitor.notify.settings import alert_settings_path, load_alert_settings
    from ..monitor.notify.trial import tell_on_trial
    from ..monitor.render.formatting import format_duration
    from ..shared.errors import OperantError, UsageError
    from .helpers.output import print_line

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
        raise OperantError(
            f"{num_failed} of {len(settings.receivers)} did not get the test message"
        )
