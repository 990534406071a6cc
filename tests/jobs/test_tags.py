"""Tags: words of letters, digits and -, joined by dots."""

import pytest

from agent_exec.jobs.start import check_tags
from agent_exec.model.errors import InvalidArgument


def test_tags_are_kept_each_once_in_order() -> None:
    assert check_tags(["b", "a.B-1", "b", "0"]) == ["b", "a.B-1", "0"]
    assert check_tags([]) == []


@pytest.mark.parametrize(
    "tag", ["", ".", "a.", ".a", "a..b", "a b", "a_b", "ä", "a/b", "*", "a.*", "a\n", "a\0"]
)
def test_what_is_no_tag_is_refused(tag: str) -> None:
    with pytest.raises(InvalidArgument, match="is not a tag") as error:
        check_tags(["fine", tag])
    assert error.value.details == {"tag": tag}
