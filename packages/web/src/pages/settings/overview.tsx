/** The list of the settings, each with what it holds. */
import { Link } from 'wouter'
import { usePageTitle } from '../../lib/page-title.ts'
import { ChevronRight } from '../../ui/icons.ts'
import { frame as words } from '../../words/settings-frame.en.ts'
import './frame.css'
import { pathOf, SECTIONS } from './sections.ts'

export function SettingsPage() {
  usePageTitle(words.title)
  return (
    <div className="page">
      <h1>{words.title}</h1>
      <ul className="settings-overview">
        {SECTIONS.map((id) => (
          <li key={id}>
            <Link href={pathOf(id)}>
              <strong>{words.sections[id].title}</strong>
              <span>{words.sections[id].text}</span>
              <ChevronRight size={16} aria-hidden />
            </Link>
          </li>
        ))}
      </ul>
    </div>
  )
}
