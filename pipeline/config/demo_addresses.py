"""Fixed names of the demo: its companies, their owners, and the people of the story."""

COMPANY = "Harbour & Pine (demo)"
OWNER = "owner@demo.example"
# A colleague who sees a single job.
HIRING_MANAGER = "hiring@demo.example"
STAFF_NAMES = {
    OWNER: "Ines Brandt",
    "recruiter@demo.example": "Jonas Lind",
    "viewer@demo.example": "Vera Sousa",
    HIRING_MANAGER: "Tomas Reyes",
}
# The applicant for whom `run.py` prints a sign-in link, and the people who apply with one click.
APPLICANT = "Mia Larsen"
STORY_PEOPLE = {"ana": "Ana Li", "bo": "Bo Berg", "cy": "Cy Okafor"}


def demo_address(name: str) -> str:
    """Return the email address of a person of the demo."""
    return f"{name.lower().replace(' ', '.')}@demo.example"
