/** What this browser keeps for a person besides the session token: texts that were not sent. They never pass to another user. */
const USER = 'parley.user'
const DRAFT = 'parley.draft.'

/** The user of whom the page has shown something. */
let shown: string | null = null

/** Called when the server has named the user of the page. Drafts of another user are removed, and a page that has shown another user is loaded again. */
export function actFor(user: string): void {
  try {
    if (localStorage.getItem(USER) !== user) forgetUser()
    localStorage.setItem(USER, user)
  } catch {
    // Nothing is stored in this browser.
  }
  if (shown !== null && shown !== user) location.reload()
  shown = user
}

/** Removes the drafts, and the name of their user. */
export function forgetUser(): void {
  for (const name of Object.keys(localStorage))
    if (name === USER || name.startsWith(DRAFT)) localStorage.removeItem(name)
}
