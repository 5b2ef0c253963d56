/** The frame of the settings: their list beside a page of them; on narrow screens a link back to the list. */
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { usePageTitle } from '../../lib/page-title.ts'
import { ROUTES } from '../../routes.ts'
import { ArrowLeft } from '../../ui/icons.ts'
import { frame as words } from '../../words/settings-frame.en.ts'
import './frame.css'
import { pathOf, type SectionId, SECTIONS } from './sections.ts'

type FrameProps = {
  readonly of: SectionId
  /** Default: that of the section. */
  readonly title?: string
  /** Null: the title says enough. */
  readonly lead: string | null
  /** Beside the title. */
  readonly action?: ReactNode
  readonly children: ReactNode
}

export function SettingsFrame({ of, title = words.sections[of].title, lead, action, children }: FrameProps) {
  usePageTitle(title)
  return (
    <div className="page settings">
      <nav className="settings-list" aria-label={words.label}>
        <ul>
          {SECTIONS.map((id) => (
            <li key={id}>
              <Link href={pathOf(id)} aria-current={id === of ? 'page' : undefined}>
                {words.sections[id].title}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <div className="settings-page">
        <Link href={ROUTES.settings} className="settings-back">
          <ArrowLeft size={14} aria-hidden />
          {words.back}
        </Link>
        <header className="settings-head">
          <h1>{title}</h1>
          {action}
        </header>
        {lead !== null && <p className="page-lead">{lead}</p>}
        {children}
      </div>
    </div>
  )
}
