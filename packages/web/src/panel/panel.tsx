/** The panel beside the timeline: one tab at a time, on a narrow screen as a sheet over the page. */
import { type KeyboardEvent, type ReactNode, Suspense, useEffect, useRef, useSyncExternalStore } from 'react'
import { waitingBatch } from '../log/state.ts'
import { useConversationState, useView } from '../timeline/context.ts'
import { Button } from '../ui/button.tsx'
import { ErrorBoundary } from '../ui/error-boundary.tsx'
import { X } from '../ui/icons.ts'
import { Loading } from '../ui/listing.tsx'
import { panel as words } from '../words/panel.en.ts'
import { usePanel } from './open.ts'
import { Splitter, usePanelWidth } from './splitter.tsx'
import { type Tab, TABS } from './tabs.ts'
import './panel.css'

/** Narrower pages have no room beside the timeline. */
const NARROW = '(width < 900px)'

export function Panel() {
  const [open, change] = usePanel()
  const [width, setWidth] = usePanelWidth()
  const isSheet = useMatch(NARROW)
  if (open === null) return null
  const content = <Tabs open={open} onChange={change} isSheet={isSheet} />
  if (isSheet) return <Sheet onClose={() => change(null)}>{content}</Sheet>
  return (
    <>
      <Splitter width={width} onChange={setWidth} />
      <section id="panel" className="panel" aria-label={words.label} style={{ inlineSize: width }}>
        {content}
      </section>
    </>
  )
}

function Tabs({ open, onChange, isSheet }: { open: Tab; onChange: (name: string | null) => void; isSheet: boolean }) {
  const { conversation } = useView()
  const list = useRef<HTMLDivElement>(null)
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = TABS.indexOf(open)
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: TABS.length - 1 }[event.key]
    if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    const name = TABS.at(next % TABS.length)!.name
    onChange(name)
    list.current?.querySelector<HTMLElement>(`#panel-tab-${name}`)?.focus()
  }
  return (
    <>
      <div className="panel-head">
        <div
          ref={list}
          role="tablist"
          aria-label={words.label}
          className="panel-tabs"
          onKeyDown={onKeyDown}
          tabIndex={-1}
        >
          {TABS.map(({ name, label }) => (
            <button
              key={name}
              type="button"
              role="tab"
              id={`panel-tab-${name}`}
              aria-selected={name === open.name}
              aria-controls={name === open.name ? 'panel-content' : undefined}
              tabIndex={name === open.name ? 0 : -1}
              onClick={() => onChange(name)}
            >
              {label}
            </button>
          ))}
        </div>
        <Button look="quiet" size="small" label={words.hide} onClick={() => onChange(null)}>
          <X size={16} aria-hidden />
        </Button>
      </div>
      {isSheet && <Waiting onDecide={() => onChange(null)} />}
      <div id="panel-content" role="tabpanel" aria-labelledby={`panel-tab-${open.name}`} className="panel-content">
        <ErrorBoundary of={open.name}>
          <Suspense fallback={<Loading />}>
            <open.Content key={conversation.id} id={conversation.id} />
          </Suspense>
        </ErrorBoundary>
      </div>
    </>
  )
}

/** A sheet covers the approval that waits, so it says that one does. */
function Waiting({ onDecide }: { onDecide: () => void }) {
  const isWaiting = useConversationState(waitingBatch) !== null
  if (!isWaiting) return null
  return (
    <div className="panel-waiting" role="status">
      <span>{words.waits}</span>
      <Button size="small" onClick={onDecide}>
        {words.decide}
      </Button>
    </div>
  )
}

function Sheet({ onClose, children }: { onClose: () => void; children: ReactNode }) {
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = ref.current
    if (dialog === null || dialog.open) return
    dialog.showModal()
    dialog.querySelector<HTMLElement>('[role="tab"][aria-selected="true"]')?.focus()
    return () => dialog.close()
  }, [])
  return (
    <dialog
      ref={ref}
      id="panel"
      className="panel panel-sheet"
      aria-label={words.label}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      {children}
    </dialog>
  )
}

function useMatch(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const list = matchMedia(query)
      list.addEventListener('change', listener)
      return () => list.removeEventListener('change', listener)
    },
    () => matchMedia(query).matches,
  )
}
