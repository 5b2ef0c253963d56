/** The text of a task that has not been sent, kept for this browser. */
const STORED = 'parley.draft.new'

export const readDraft = (): string => {
  try {
    return localStorage.getItem(STORED) ?? ''
  } catch {
    return ''
  }
}

/** Keeps `text`; an empty one removes the draft. */
export function keepDraft(text: string): void {
  try {
    if (text === '') localStorage.removeItem(STORED)
    else localStorage.setItem(STORED, text)
  } catch {
    // A browser may refuse to store; the draft then lasts as long as the page.
  }
}
