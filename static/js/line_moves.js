// A picture of a line that moves: who takes a seat goes there from the front, and the others move up.
//
// The picture holds no names, only seats and people in order, so a move is read from two pictures:
// a seat that was not offered before and is now, while someone waited, was taken from the front.
// Nothing moves for readers who want less motion.
const MOVE_MS = 240;
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

const kindsOf = (picture) =>
  [...picture.querySelectorAll(".seat-shape")].map((seat) => seat.classList[1]);
const peopleOf = (picture) => picture.querySelectorAll(".person-shape").length;
const count = (kinds, kind) => kinds.filter((each) => each === kind).length;

export const shownIn = (picture) =>
  picture ? { kinds: kindsOf(picture), people: peopleOf(picture), says: picture.ariaLabel } : null;

const slide = (shape, x, y, delay = 0) =>
  shape.animate([{ transform: `translate(${x}px, ${y}px)` }, { transform: "none" }], {
    duration: MOVE_MS, delay, easing: "cubic-bezier(.2, .7, .2, 1)", fill: "backwards",
  });

const centreOf = (circle) => [circle.cx.baseVal.value, circle.cy.baseVal.value];

// Move the shapes of a picture from where they stood before; gives how many people took a seat.
export function moveFrom(before, picture) {
  if (!before || !picture || STILL.matches || !picture.animate) return 0;
  if (before.says === picture.ariaLabel) return 0;
  const kinds = kindsOf(picture), seats = [...picture.querySelectorAll(".seat-shape")];
  const offered = count(kinds, "pending") - count(before.kinds, "pending");
  const seated = count(kinds, "active") - count(before.kinds, "active");
  const taken = Math.min(before.people, Math.max(0, offered + Math.max(0, seated)));
  const people = [...picture.querySelectorAll(".person-shape")];
  const front = people[0]?.querySelector("circle");
  const [x, y] = front ? centreOf(front) : [18, 82];
  const step = people[1] ? centreOf(people[1].querySelector("circle"))[0] - x : 28;
  const gone = offered > 0 ? seats.filter((_, place) => kinds[place] === "pending").slice(-taken)
    : seats.filter((_, place) => kinds[place] === "active").slice(-taken);
  if (taken) {
    gone.forEach((seat, place) => {
      const dot = seat.querySelector("circle");
      if (dot) slide(dot, x - centreOf(dot)[0], y - centreOf(dot)[1], place * 40);
    });
    people.forEach((person, place) => slide(person, step * taken, 0, 40 + place * 10));
  } else if (people.length > before.people) {
    people.slice(before.people).forEach((person) => slide(person, step * 2, 0));
  }
  return taken;
}
