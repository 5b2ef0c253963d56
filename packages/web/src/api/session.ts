/**
 * The session token of this page. It is kept per tab, or per browser when the person asked to stay signed in, and is never a cookie:
 * browsers send cookies to every port of a host, and agents start development servers on other ports.
 */
const NAME = 'parley.session'
const CHANNEL = 'parley.session'
/** Milliseconds that a new tab waits for another tab's token. */
const HANDOVER_MS = 150

/** What the tabs of one browser tell each other. */
type Note = { kind: 'signed_out' } | { kind: 'who_has' } | { kind: 'token'; token: string }

let current: string | null = null
let channel: BroadcastChannel | null = null
const listeners = new Set<() => void>()

/** The token, or null without one. */
export const sessionToken = (): string | null => current

/** Calls `listener` after each change of the token, until the result is called. */
export function onSessionChange(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Reads the stored token and joins the other tabs. A new tab without one takes over the token of an open tab. */
export async function openSession(): Promise<void> {
  current = read(sessionStorage) ?? read(localStorage)
  channel = new BroadcastChannel(CHANNEL)
  const handover = Promise.withResolvers<void>()
  channel.onmessage = ({ data }: MessageEvent<Note>) => {
    if (data.kind === 'who_has' && current !== null) tell({ kind: 'token', token: current })
    if (data.kind === 'token' && current === null) set(data.token, sessionStorage)
    if (data.kind === 'token') handover.resolve()
    if (data.kind === 'signed_out') clear()
  }
  if (current !== null) return
  tell({ kind: 'who_has' })
  setTimeout(() => handover.resolve(), HANDOVER_MS)
  await handover.promise
}

/** Begins to use `token`; `stays` keeps it when the browser is closed. */
export function keepSession(token: string, stays: boolean): void {
  clear()
  set(token, stays ? localStorage : sessionStorage)
}

/** Forgets the token in this tab and in all others. */
export function forgetSession(): void {
  clear()
  tell({ kind: 'signed_out' })
}

/** True when the token outlives the tab. */
export const staysSignedIn = (): boolean => read(localStorage) !== null

function set(token: string, storage: Storage): void {
  current = token
  // A browser may refuse to store; the token then lasts as long as the page.
  attempt(() => storage.setItem(NAME, token))
  for (const listener of listeners) listener()
}

function clear(): void {
  const had = current !== null
  current = null
  attempt(() => sessionStorage.removeItem(NAME))
  attempt(() => localStorage.removeItem(NAME))
  if (had) for (const listener of listeners) listener()
}

const tell = (note: Note): void => channel?.postMessage(note)

const read = (storage: Storage): string | null => attempt(() => storage.getItem(NAME)) ?? null

function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
