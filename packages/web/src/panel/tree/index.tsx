/** The branches of the conversation: where each began, where the leaf is, and ways to go back to a place or to fork from it. */
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { contentText, membersOf } from '../../log/read.ts'
import { type Segment, segmentsIn } from '../../log/tree.ts'
import { type BranchAction, BranchDialog } from '../../timeline/branch/index.tsx'
import { useEvent, useView } from '../../timeline/context.ts'
import { clockOf, fullTimeOf } from '../../timeline/format.ts'
import { Button } from '../../ui/button.tsx'
import { conversation as kinds } from '../../words/conversation.en.ts'
import { tree as words } from '../../words/tree.en.ts'
import { usePanel } from '../open.ts'
import './tree.css'

/** Segments that are listed at once. */
const FIRST = 100
/** Deeper branches are not moved in further. */
const MOST_DEPTH = 8

type Asked = { action: BranchAction; seq: number }

export function TreeTab() {
  const { log } = useView().conversation
  const segments = useSyncExternalStore(
    log.subscribe,
    useMemo(() => segmentsIn(log), [log]),
  )
  const [shown, setShown] = useState(FIRST)
  const [asked, setAsked] = useState<Asked | null>(null)
  if (segments.length === 0)
    return (
      <div className="panel-empty">
        <p>{words.empty}</p>
        <p>{words.emptyText}</p>
      </div>
    )
  return (
    <div className="tree">
      {segments.length === 1 ? <p className="tree-note">{words.one}</p> : null}
      <ul aria-label={words.label}>
        {segments.slice(0, shown).map((segment) => (
          <Branch key={segment.first} segment={segment} onAsk={setAsked} />
        ))}
      </ul>
      {segments.length > shown ? (
        <Button size="small" onClick={() => setShown(shown + FIRST)}>
          {words.showMore(segments.length - shown)}
        </Button>
      ) : null}
      {asked === null ? null : <BranchDialog {...asked} onClose={() => setAsked(null)} />}
    </div>
  )
}

function Branch({ segment, onAsk }: { segment: Segment; onAsk: (asked: Asked) => void }) {
  const { rows, canAct } = useView()
  const [, changePanel] = usePanel()
  const show = () => {
    // A sheet covers the timeline.
    if (document.querySelector('.panel-sheet') !== null) changePanel(null)
    rows.goTo(titleSeq)
  }
  const { title: titleSeq, last, count, depth, isShown, isLeaf, at } = segment
  const title = useTitle(titleSeq)
  return (
    <li
      className={isShown ? 'tree-segment shown' : 'tree-segment'}
      style={{ marginInlineStart: Math.min(depth, MOST_DEPTH) * 16 }}
    >
      <p className="tree-title">{title}</p>
      <p className="tree-facts">
        {isShown && !isLeaf ? <span className="hidden-text">{words.onBranch}</span> : null}
        {isLeaf ? <strong>{words.here}</strong> : null}
        <span>{words.events(count)}</span>
        <time title={fullTimeOf(at)}>{words.began(clockOf(at))}</time>
      </p>
      <div className="tree-actions" role="group" aria-label={words.actionsOf(title)}>
        {isShown ? (
          <Button look="quiet" size="small" onClick={show}>
            {words.show}
          </Button>
        ) : null}
        {canAct && !isLeaf ? (
          <Button look="quiet" size="small" onClick={() => onAsk({ action: 'back', seq: last })}>
            {isShown ? words.goBack : words.continueHere}
          </Button>
        ) : null}
        {canAct ? (
          <Button look="quiet" size="small" onClick={() => onAsk({ action: 'fork', seq: last })}>
            {words.fork}
          </Button>
        ) : null}
      </div>
    </li>
  )
}

/** The first words of a segment; its kind until they are loaded, and for an event without text. */
function useTitle(seq: number): string {
  const { conversation } = useView()
  const event = useEvent(seq)
  useEffect(() => {
    // A failure leaves the kind as the title.
    if (event === undefined) conversation.eventAt(seq).catch(() => undefined)
  }, [conversation, event, seq])
  const text = contentText(membersOf(event?.['llm_message'])['content']).trim().split('\n', 1).join('')
  return text.slice(0, 160) || kinds.from[event?.source === 'user' ? 'user' : 'agent']
}
