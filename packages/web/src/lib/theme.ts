/** Dark or light: as the system, or as the person has chosen. */
import { useSyncExternalStore } from 'react'

export type Theme = 'system' | 'light' | 'dark'

const STORED = 'parley.theme'
const listeners = new Set<() => void>()

/** Applies the stored choice; before the first paint. */
export function applyTheme(): void {
  const theme = storedTheme()
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}

export const useTheme = (): Theme => useSyncExternalStore(subscribe, storedTheme)

export function chooseTheme(theme: Theme): void {
  try {
    localStorage.setItem(STORED, theme)
  } catch {
    // A browser may refuse to store; the appearance then stays as it is.
  }
  applyTheme()
  for (const listener of listeners) listener()
}

function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(STORED)
    return stored === 'light' || stored === 'dark' ? stored : 'system'
  } catch {
    return 'system'
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
