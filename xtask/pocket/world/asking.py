"""Ways to ask that fit every question."""

TELL_ME = "[Tell me|Please tell me|Say|I want to know|I would like to know]"
CAN_YOU_TELL_ME = "[Can you tell me|Could you tell me|Please can you tell me|Do you know|Can you say]"


def indirect(clause):
    """The templates that ask for what a clause such as "who you are" says."""
    return [f"{TELL_ME} {clause}.", f"{CAN_YOU_TELL_ME} {clause}?"]
