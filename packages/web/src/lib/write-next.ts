/** State of the history entry of Home that moves the focus to the task. */
export const WRITE_NEXT = 'write-next'

/** True once for a page that was opened to write a task. */
export function takeWriteNext(): boolean {
  if (history.state !== WRITE_NEXT) return false
  history.replaceState(null, '')
  return true
}
