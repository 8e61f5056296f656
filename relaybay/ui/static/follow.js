// A reader of a channel follows its newest end while one reads there; who has scrolled back is left alone.
const NEAR_PX = 48;
const end = () => document.querySelector("[data-follow] #newest");
const isNear = () => Boolean(end()) && end().getBoundingClientRect().top <= innerHeight + NEAR_PX;
let follows = isNear();

addEventListener("scroll", () => (follows = isNear()), { passive: true });
document.addEventListener("relaybay:put", () => {
  if (follows) end()?.scrollIntoView({ block: "end" });
});
