/** The navigation of narrow screens: a column of icons at the side, on a phone a row at the bottom. */
import { House, Inbox, type LucideIcon, Menu, SquarePen } from '../ui/icons.ts'
import { Link, useRoute } from 'wouter'
import { ROUTES } from '../routes.ts'
import { en } from '../words/en.ts'
import './bar.css'

export function Bar({ waiting, onShowConversations }: { waiting: number; onShowConversations: () => void }) {
  return (
    <nav className="bar" aria-label={en.rail.label}>
      <BarLink href={ROUTES.home} icon={House} text={en.rail.home} />
      <BarLink href={ROUTES.approvals} icon={Inbox} text={en.rail.approvals} count={waiting} />
      <BarLink href={ROUTES.create} icon={SquarePen} text={en.rail.createShort} />
      <button type="button" className="bar-item" onClick={onShowConversations}>
        <Menu size={20} aria-hidden />
        <span className="bar-text">{en.rail.conversationsShort}</span>
      </button>
    </nav>
  )
}

type BarLinkProps = { href: string; icon: LucideIcon; text: string; count?: number }

function BarLink({ href, icon: Icon, text, count = 0 }: BarLinkProps) {
  const [isHere] = useRoute(href)
  return (
    <Link href={href} className="bar-item" aria-current={isHere ? 'page' : undefined}>
      <span className="bar-icon">
        <Icon size={20} aria-hidden />
        {count > 0 && (
          <span className="bar-count">
            {count}
            <span className="hidden-text"> {en.rail.waiting(count)}</span>
          </span>
        )}
      </span>
      <span className="bar-text">{text}</span>
    </Link>
  )
}
