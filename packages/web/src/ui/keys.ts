/** Keys of the page. They work outside of fields, except Escape. A person can switch single letters off. */
import { useEffect, useRef, useSyncExternalStore } from 'react'

export type KeyBinding = {
  /** One key, or a sequence with a space: `c`, `?`, `g h`, `Escape`. */
  readonly keys: string
  /** What the key does, for the list of keys. */
  readonly label: string
  readonly run: () => void
}

const STORED = 'parley.keys'
/** Milliseconds in which the second key of a sequence has to follow. */
const SEQUENCE_MS = 1_000

let active: readonly { readonly current: readonly KeyBinding[] }[] = []
let isOff = false
let begun: { key: string; at: number } | null = null
const listeners = new Set<() => void>()

/** Binds keys while the component is mounted. Of two bindings of one key, the one of the later component wins. */
export function useKeys(bindings: readonly KeyBinding[]): void {
  const ref = useRef(bindings)
  useEffect(() => {
    ref.current = bindings
  })
  useEffect(() => {
    active = [...active, ref]
    return () => {
      active = active.filter((one) => one !== ref)
    }
  }, [])
}

/** All bindings of this screen, for the list of keys. */
export function keyBindings(): KeyBinding[] {
  const all = active.flatMap(({ current }) => current)
  return [...new Map(all.map((binding) => [binding.keys, binding])).values()]
}

/** Begins to listen; once per page. */
export function listenForKeys(): void {
  isOff = readOff()
  document.addEventListener('keydown', onKey)
}

/** Whether single letters are switched off, and the function that switches them. */
export function useKeysOff(): [isOff: boolean, change: (off: boolean) => void] {
  return [useSyncExternalStore(subscribe, () => isOff), setOff]
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return
  if (document.querySelector('dialog[open], [popover]:popover-open') !== null) return
  const isLetter = event.key.length === 1
  if ((isLetter && isOff) || (event.key !== 'Escape' && isField(event.target))) return
  const sequence = begun !== null && event.timeStamp - begun.at < SEQUENCE_MS ? `${begun.key} ${event.key}` : event.key
  begun = null
  const binding = find(sequence) ?? find(event.key)
  if (binding !== undefined) {
    event.preventDefault()
    binding.run()
  } else if (isLetter && active.some(({ current }) => current.some(({ keys }) => keys.startsWith(`${event.key} `)))) {
    begun = { key: event.key, at: event.timeStamp }
  }
}

const find = (keys: string): KeyBinding | undefined =>
  active.flatMap(({ current }) => current).findLast((binding) => binding.keys === keys)

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null

function setOff(off: boolean): void {
  isOff = off
  try {
    localStorage.setItem(STORED, off ? 'off' : 'on')
  } catch {
    // A browser may refuse to store; the choice then lasts as long as the page.
  }
  for (const listener of listeners) listener()
}

function readOff(): boolean {
  try {
    return localStorage.getItem(STORED) === 'off'
  } catch {
    return false
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
