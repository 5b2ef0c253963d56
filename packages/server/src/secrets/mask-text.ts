import type { FormFinder } from './find-forms.ts'

/** Stands where a secret value stood. */
export const MASK = '<secret-hidden>'

/** `text` with every form masked. Masks that `text` holds already stay as they are. */
export function masked(text: string, finder: Pick<FormFinder, 'matches'>): string {
  const pieces = text.split(MASK)
  const shown = pieces.map((piece) => withoutForms(piece, finder))
  return shown.every((piece, at) => piece === pieces[at]) ? text : shown.join(MASK)
}

function withoutForms(text: string, finder: Pick<FormFinder, 'matches'>): string {
  let [shown, from] = ['', 0]
  for (const { index, length } of finder.matches(text)) {
    shown += text.slice(from, index) + MASK
    from = index + length
  }
  return from === 0 ? text : shown + text.slice(from)
}
