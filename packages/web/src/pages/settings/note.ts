/** What a list of the settings says after a form has been left. */
export type Note = { readonly text: string; readonly isProblem: boolean }

const NOTHING: Note = { text: '', isProblem: false }
let left: Note = NOTHING

export function leaveNote(note: Note): void {
  left = note
}

/** The note once; an empty one afterwards. */
export function takeNote(): Note {
  const note = left
  left = NOTHING
  return note
}
