// Mathematics as MathML.
import temml from 'temml';

/** How long a formula may be that is drawn: a longer one is shown as it is. */
const LONGEST = 2000;
/** How deep its groups may be. */
const DEEPEST = 40;

function isTooMuch(formula: string): boolean {
  if (formula.length > LONGEST) return true;
  let depth = 0;
  let deepest = 0;
  for (const sign of formula) {
    if (sign === '{') depth += 1;
    if (sign === '}') depth -= 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest > DEEPEST;
}

/** Fills an element with a formula. Returns whether it could be read. */
export function drawMath(element: HTMLElement, formula: string, isBlock: boolean): boolean {
  if (isTooMuch(formula)) {
    element.textContent = formula;
    return false;
  }
  try {
    temml.render(formula, element, {
      displayMode: isBlock,
      throwOnError: true,
      trust: false,
      maxSize: [20, 20],
      maxExpand: 500,
    });
    for (const link of element.querySelectorAll('[href]')) link.removeAttribute('href');
    return true;
  } catch {
    element.textContent = formula;
    return false;
  }
}
