/** Find in the conversation: the server looks in all events, the hits are shown in their rows. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { messageOf, server } from '../../api/server.ts'
import { Button } from '../../ui/button.tsx'
import { ArrowDown, ArrowUp, X } from '../../ui/icons.ts'
import { find as words } from '../../words/find.en.ts'
import { useView } from '../context.ts'
import { useHighlight } from './highlight.ts'
import { type Hit, hitsOf, marked, nearest } from './hits.ts'
import { type Search, useSearchText } from './open.ts'
import '../../ui/field.css'
import './find.css'

const LIMIT = 200
/** Milliseconds without a further letter before the server is asked. */
const PAUSE_MS = 250
const KINDS = {
  all: undefined,
  messages: 'MessageEvent',
  calls: 'ActionEvent,ACPToolCallEvent',
  results: 'ObservationEvent,UserRejectObservation',
  errors: 'AgentErrorEvent,ConversationErrorEvent',
} as const
type Kind = keyof typeof KINDS

export function FindBar() {
  const search = useSearchText()
  return search.text === null ? null : <Bar search={search} begun={search.text} />
}

function Bar({ search, begun }: { search: Search; begun: string }) {
  const { conversation, rows } = useView()
  const [text, setText] = useState(begun)
  const [kind, setKind] = useState<Kind>('all')
  const sought = useDelayed(text.trim())
  const { data, error, isFetching, isPlaceholderData } = useQuery({
    queryKey: ['find', conversation.id, sought, kind],
    queryFn: async ({ signal }) => {
      const query = { q: sought, kinds: KINDS[kind], limit: LIMIT }
      const answer = await server.call('GET', conversation.path('/events/find'), { query, signal })
      return hitsOf(answer, conversation.log.rows())
    },
    enabled: sought !== '',
    staleTime: 0,
    placeholderData: keepPreviousData,
  })
  const hits = sought === '' ? [] : (data?.shown ?? [])
  const elsewhere = sought === '' ? 0 : (data?.elsewhere ?? 0)
  const [at, setAt] = useState<number | null>(null)
  const current = at === null ? undefined : hits[at]
  useHighlight(sought)
  useOpenRow(current)

  const show = (index: number) => {
    const hit = hits.at(index % Math.max(1, hits.length))
    if (hit === undefined) return
    setAt(hits.indexOf(hit))
    search.show(sought, hit.seq, rows)
  }
  const onNewHits = () => {
    setAt(null)
    if (hits.length > 0) show(nearest(hits, rows.place()?.seq ?? Number.MAX_SAFE_INTEGER))
  }
  const latest = useRef(onNewHits)
  useEffect(() => {
    latest.current = onNewHits
  })
  useEffect(() => {
    if (!isPlaceholderData) latest.current()
  }, [data, isPlaceholderData])
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') search.change(null)
    else if (event.key === 'Enter' && event.target instanceof HTMLInputElement)
      show((at ?? -1) + (event.shiftKey ? -1 : 1))
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- the keys of the field and its buttons
    <search className="find-bar" aria-label={words.label} onKeyDown={onKeyDown}>
      <div className="find-line">
        <Field text={text} onChange={setText} />
        <span className="find-count" role="status">
          {countOf({ sought, at, count: hits.length, isFetching })}
        </span>
        <select
          className="input"
          aria-label={words.kinds}
          value={kind}
          onChange={({ target }) => setKind(target.value as Kind)}
        >
          {Object.entries(words.kind).map(([name, label]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
        <Button look="quiet" size="small" label={words.previous} onClick={() => show((at ?? 0) - 1)}>
          <ArrowUp size={16} aria-hidden />
        </Button>
        <Button look="quiet" size="small" label={words.next} onClick={() => show((at ?? -1) + 1)}>
          <ArrowDown size={16} aria-hidden />
        </Button>
        <Button look="quiet" size="small" label={words.close} onClick={() => search.change(null)}>
          <X size={16} aria-hidden />
        </Button>
      </div>
      {current === undefined ? null : <Excerpt text={current.excerpt} sought={sought} />}
      {error === null ? null : (
        <p className="problem" role="alert">
          {messageOf(error)}
        </p>
      )}
      {elsewhere === 0 ? null : <p className="note">{words.elsewhere(elsewhere)}</p>}
      {hits.length + elsewhere < LIMIT ? null : <p className="note">{words.more}</p>}
    </search>
  )
}

function Field({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  const ref = useRef<HTMLInputElement>(null)
  useEffect(() => ref.current?.select(), [])
  return (
    <input
      ref={ref}
      type="text"
      className="input"
      aria-label={words.text}
      placeholder={words.open}
      value={text}
      maxLength={500}
      autoComplete="off"
      onChange={({ target }) => onChange(target.value)}
    />
  )
}

function Excerpt({ text, sought }: { text: string; sought: string }) {
  return (
    <p className="find-excerpt">
      {marked(text, sought).map((piece, index) =>
        index % 2 === 1 ? <mark key={index}>{piece}</mark> : <span key={index}>{piece}</span>,
      )}
    </p>
  )
}

type Count = { sought: string; at: number | null; count: number; isFetching: boolean }

function countOf({ sought, at, count, isFetching }: Count): string {
  if (sought === '') return ''
  if (count > 0) return words.place(at === null ? 0 : at + 1, count, count >= LIMIT)
  return isFetching ? words.searching : words.none
}

/** The row of a hit is open while the hit is the current one. */
function useOpenRow(hit: Hit | undefined): void {
  const { rows } = useView()
  const row = hit?.row
  useEffect(() => {
    if (row === undefined || row.type !== 'tool' || rows.isOpen(row.key)) return
    rows.set(row.key, true)
    return () => rows.set(row.key, false)
  }, [rows, row])
}

/** The value when it has not changed for a moment. */
function useDelayed(value: string): string {
  const [delayed, setDelayed] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setDelayed(value), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [value])
  return delayed
}
