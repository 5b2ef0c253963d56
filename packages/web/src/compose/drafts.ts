/** Texts that were not sent yet, per conversation, kept in this browser. */
const PREFIX = 'parley.draft.'

export function readDraft(name: string): string {
  try {
    return localStorage.getItem(PREFIX + name) ?? ''
  } catch {
    return ''
  }
}

/** Keeps a text; an empty one is removed. */
export function keepDraft(name: string, text: string): void {
  try {
    if (text === '') localStorage.removeItem(PREFIX + name)
    else localStorage.setItem(PREFIX + name, text)
  } catch {
    // A full or forbidden storage: the text is then kept as long as the page is open.
  }
}
