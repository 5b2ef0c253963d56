/** What needs the person, what runs, and what was last worked on; a composer at the top. */
import { FolderTree, GitBranch, KeyRound, type LucideIcon, SquarePen } from '../ui/icons.ts'
import { lazy } from 'react'
import { Link } from 'wouter'
import { useMe } from '../api/me.ts'
import { type ConversationProgress, useConversations } from '../api/queries.ts'
import { shownStatus } from '../lib/conversations.ts'
import { usePageTitle } from '../lib/page-title.ts'
import { useNow } from '../lib/use-now.ts'
import { useSections } from '../lib/use-sections.ts'
import { useAskedIn } from '../lib/use-waiting.ts'
import { MODEL_PATH, ROUTES } from '../routes.ts'
import { Listing } from '../ui/listing.tsx'
import { useRowKeys } from '../ui/row-keys.ts'
import { en } from '../words/en.ts'
import { settings } from '../words/settings.en.ts'
import { ConversationRow } from './conversation-row.tsx'
import './home.css'
import { QuickStart } from './quick-start.tsx'

const Welcome = lazy(async () => ({ default: (await import('./welcome.tsx')).WelcomePage }))

/** Rows of the part with past conversations; the rail has all of them. */
const RECENT = 20

export function HomePage() {
  usePageTitle(en.home.title)
  useRowKeys()
  const list = useConversations()
  const me = useMe().data
  const canWrite = me?.role !== 'read-only'
  const lacksModel = canWrite && me?.has_model === false
  if (lacksModel && list.data?.length === 0) return <Welcome />
  if (lacksModel && list.isPending) return <div aria-busy="true" />
  return (
    <div className="page home">
      <h1 className="hidden-text">{en.home.title}</h1>
      {canWrite ? <QuickStart /> : <p className="page-lead">{en.home.readOnly}</p>}
      {lacksModel && (list.data?.length ?? 0) > 0 && (
        <ul className="cards home-section">
          <ModelCard />
        </ul>
      )}
      <Listing
        items={list.data}
        error={list.error}
        onRetry={() => void list.refetch()}
        empty={canWrite ? <FirstSteps /> : <p className="page-lead">{en.rail.empty}</p>}
      >
        {(items) => <Conversations items={items} />}
      </Listing>
    </div>
  )
}

function Conversations({ items }: { items: readonly ConversationProgress[] }) {
  const now = useNow(30_000)
  const [{ attention, running, recent }, holding] = useSections(items, now)
  return (
    <div {...holding}>
      <Section title={en.home.attention} items={attention} now={now} isCounted />
      <Section title={en.home.running} items={running} now={now} isCounted />
      <Section title={en.home.recent} items={recent.slice(0, RECENT)} now={now} />
    </div>
  )
}

type SectionProps = {
  title: string
  items: readonly ConversationProgress[]
  now: number
  isCounted?: boolean
}

function Section({ title, items, now, isCounted = false }: SectionProps) {
  const asked = useAskedIn()
  if (items.length === 0) return null
  return (
    <section className="home-section">
      <h2>
        {title}
        {isCounted && <span className="home-count">{items.length}</span>}
      </h2>
      <ul className="rows">
        {items.map((item) => (
          <ConversationRow
            key={item.conversation_id}
            item={item}
            shown={shownStatus(item, asked)}
            asked={asked.get(item.conversation_id)}
            now={now}
          />
        ))}
      </ul>
    </section>
  )
}

const CARDS: readonly { id: keyof typeof en.home.cards; href: string; icon: LucideIcon }[] = [
  { id: 'task', href: `${ROUTES.create}?where=empty`, icon: SquarePen },
  { id: 'repository', href: `${ROUTES.create}?where=repository`, icon: GitBranch },
  { id: 'directory', href: `${ROUTES.create}?where=directory`, icon: FolderTree },
]

function FirstSteps() {
  return (
    <section className="home-section">
      <h2>{en.home.empty}</h2>
      <ul className="cards">
        {CARDS.map(({ id, href, icon }) => (
          <Card key={id} href={href} icon={icon} {...en.home.cards[id]} />
        ))}
      </ul>
    </section>
  )
}

const ModelCard = () => <Card href={MODEL_PATH} icon={KeyRound} {...settings.card} />

type CardProps = { href: string; icon: LucideIcon; title: string; text: string }

function Card({ href, icon: Icon, title, text }: CardProps) {
  return (
    <li>
      <Link href={href} className="card">
        <Icon size={18} aria-hidden />
        <span className="card-title">{title}</span>
        <span className="card-text">{text}</span>
      </Link>
    </li>
  )
}
