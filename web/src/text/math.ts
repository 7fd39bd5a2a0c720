// Mathematics as MathML.
import temml from 'temml';

/** Fills an element with a formula. Returns whether it could be read. */
export function drawMath(element: HTMLElement, formula: string, isBlock: boolean): boolean {
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
