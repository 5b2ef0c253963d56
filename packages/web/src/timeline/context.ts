/** The open conversation of a page, for its parts. */
import { createContext, useContext, useSyncExternalStore } from 'react'
import type { LogEvent } from '../log/read.ts'
import type { State } from '../log/state.ts'
import type { OpenConversation } from '../socket/conversation.ts'
import type { RowStates } from './row-states.ts'

export type View = {
  readonly conversation: OpenConversation
  readonly rows: RowStates
  /** False for a key that may only read. */
  readonly canAct: boolean
  /** Puts text into the composer, as a quotation of a message. */
  readonly quote: (text: string) => void
}

const Context = createContext<View | null>(null)
export const ViewProvider = Context.Provider

/** The view around a component. */
export function useView(): View {
  const view = useContext(Context)
  if (view === null) throw new Error('no conversation around this component')
  return view
}

/** The event at `seq`; undefined for 0 and while it is not loaded. */
export function useEvent(seq: number): LogEvent | undefined {
  const { log } = useView().conversation
  return useSyncExternalStore(log.subscribe, () => log.event(seq))
}

/** A value that is computed from the state; it must be the same object while the state is. */
export function useConversationState<T>(select: (state: State) => T): T {
  const { log } = useView().conversation
  return useSyncExternalStore(log.subscribe, () => select(log.state()))
}
