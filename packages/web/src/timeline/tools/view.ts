/** What the view of a tool consists of. */
import type { LucideIcon } from '../../ui/icons.ts'
import type { ComponentType, ReactNode } from 'react'
import type { Call } from '../call.ts'

type Summary = {
  /** What the agent did: `ran`, `edited`. */
  readonly verb: string
  /** What it did it to. */
  readonly object: string
  /** True for a command or a path. */
  readonly isCode?: boolean
  /** Short facts about the result. */
  readonly facts?: ReactNode
}

export type ToolView = {
  readonly icon: LucideIcon
  readonly summary: (call: Call) => Summary
  readonly Body: ComponentType<{ call: Call }>
}
