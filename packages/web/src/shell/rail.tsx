/** The rail: pages, the filter and the conversations by day. */
import { House, Inbox, type LucideIcon, Search, SquarePen } from '../ui/icons.ts'
import { type ReactNode, useState } from 'react'
import { Link, useRoute } from 'wouter'
import { useMe } from '../api/me.ts'
import { ROUTES } from '../routes.ts'
import { ButtonLink } from '../ui/button.tsx'
import { classNames } from '../ui/class-names.ts'
import { en } from '../words/en.ts'
import { AccountMenu } from './account-menu.tsx'
import { ConversationList } from './conversation-list.tsx'
import './rail.css'

export type RailProps = {
  readonly waiting: number
  readonly onShowKeys: () => void
  /** Called after a choice. */
  readonly onNavigate?: () => void
  /** The rail is the content of a sheet, which has a title of its own. */
  readonly isSheet?: boolean
}

export function Rail({ waiting, onShowKeys, onNavigate, isSheet = false }: RailProps) {
  const [filter, setFilter] = useState('')
  const canWrite = useMe().data?.role !== 'read-only'
  return (
    <nav className={classNames('rail', isSheet && 'rail-sheet')} aria-label={en.rail.label}>
      {!isSheet && (
        <div className="rail-top">
          <span className="rail-name">{en.name}</span>
          {canWrite && (
            <ButtonLink href={ROUTES.create} look="quiet" size="small" label={en.rail.create}>
              <SquarePen size={16} aria-hidden />
            </ButtonLink>
          )}
        </div>
      )}
      {!isSheet && (
        <ul className="rail-pages">
          <RailLink href={ROUTES.home} icon={House}>
            {en.rail.home}
          </RailLink>
          <RailLink href={ROUTES.approvals} icon={Inbox}>
            {en.rail.approvals}
            {waiting > 0 && (
              <span className="rail-count">
                {waiting}
                <span className="hidden-text"> {en.rail.waiting(waiting)}</span>
              </span>
            )}
          </RailLink>
        </ul>
      )}
      <div className="rail-filter">
        <Search size={14} aria-hidden />
        <input
          type="search"
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Escape') return
            if (filter === '') event.currentTarget.blur()
            else {
              event.stopPropagation()
              event.preventDefault()
              setFilter('')
            }
          }}
          aria-label={en.rail.filter}
          placeholder={en.rail.filter}
        />
        <kbd aria-hidden>/</kbd>
      </div>
      <ConversationList filter={filter} onNavigate={onNavigate} />
      <AccountMenu onShowKeys={onShowKeys} onNavigate={onNavigate} />
    </nav>
  )
}

function RailLink({ href, icon: Icon, children }: { href: string; icon: LucideIcon; children: ReactNode }) {
  const [isHere] = useRoute(href)
  return (
    <li>
      <Link href={href} className="rail-item" aria-current={isHere ? 'page' : undefined}>
        <Icon size={16} aria-hidden />
        {children}
      </Link>
    </li>
  )
}
