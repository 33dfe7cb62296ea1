"""What another user plants where operant looks for runs leads to nothing of this user's."""

from __future__ import annotations

import planted_folders
import pytest


@pytest.fixture(scope="module")
def outcomes():
    found = planted_folders.attacked()
    if found is None:
        pytest.skip("needs a mount namespace, and another user in it")
    return found


@pytest.mark.untraced
@pytest.mark.parametrize("attack", [attack.__name__ for attack in planted_folders.ATTACKS])
def test_nothing_of_the_user_is_listed_or_changed_through_what_others_planted(outcomes, attack):
    outcome = outcomes[attack]
    assert outcome["listed"] == []
    assert outcome["offered"] == []
    assert outcome["latest"] == ""
    assert outcome["changed"] == []


@pytest.mark.untraced
@pytest.mark.parametrize(
    ("attack", "said"),
    [
        ("a_page_folder_with_a_link_to_the_home", "/dev/shm/operant-0 belongs to another user"),
        ("a_link_in_a_page_folder_that_all_can_write", "can be written by other users"),
        ("a_home_of_another_user_with_links", "/dev/shm/lab/runs is a link"),
        ("a_run_that_is_a_link_in_a_home_of_another_user", "are not followed: photos"),
        ("a_folder_of_runs_that_all_can_write", "/lab/runs can be written by other users"),
    ],
)
def test_one_line_says_whose_folder_was_refused(outcomes, attack, said):
    lines = outcomes[attack]["said"]
    assert sum(said in line for line in lines) == 1
