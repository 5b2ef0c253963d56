import { type FocusEvent, type PointerEvent, useState } from 'react'
import type { ConversationProgress } from '../api/queries.ts'
import { inOrderOf, type Sections, sectionsOf } from './conversations.ts'
import { useAskedIn } from './use-waiting.ts'

/** Handlers of the element around the rows. */
type Holding = {
  readonly onPointerEnter: () => void
  readonly onPointerLeave: (event: PointerEvent<HTMLElement>) => void
  readonly onFocus: () => void
  readonly onBlur: (event: FocusEvent<HTMLElement>) => void
}

/** Divides conversations into sections. While a row is hovered or focused, no row moves. */
export function useSections(
  items: readonly ConversationProgress[],
  now: number,
): [sections: Sections<ConversationProgress>, holding: Holding] {
  const asked = useAskedIn()
  const [held, setHeld] = useState<Sections<ConversationProgress> | null>(null)
  const sections = held === null ? sectionsOf(items, asked, now) : inOrderOf(held, items)
  const hold = (): void => setHeld(sections)
  const holding: Holding = {
    onPointerEnter: hold,
    onPointerLeave: ({ currentTarget }) => {
      if (!currentTarget.contains(document.activeElement)) setHeld(null)
    },
    onFocus: hold,
    onBlur: ({ currentTarget, relatedTarget }) => {
      if (!currentTarget.contains(relatedTarget) && !currentTarget.matches(':hover')) setHeld(null)
    },
  }
  return [sections, holding]
}
