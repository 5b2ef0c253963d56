/** One way to begin. */
import type { ReactNode } from 'react'
import type { LucideIcon } from '../ui/icons.ts'

type ChoiceProps = {
  readonly icon: LucideIcon
  readonly title: string
  readonly text: string
  readonly children?: ReactNode
  readonly below?: ReactNode
}

export function Choice({ icon: Icon, title, text, children, below }: ChoiceProps) {
  return (
    <section className="welcome-choice" aria-label={title}>
      <Icon size={18} aria-hidden />
      <div className="welcome-text">
        <h2>{title}</h2>
        <p>{text}</p>
      </div>
      {children !== undefined && <div className="welcome-action">{children}</div>}
      {below}
    </section>
  )
}
