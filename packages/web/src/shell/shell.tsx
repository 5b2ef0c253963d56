/** The frame of all pages: rail, content, and on narrow screens a bar. */
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { usePageTitle, useShownTitle, useWaitingCount } from '../lib/page-title.ts'
import { useWaiting } from '../lib/use-waiting.ts'
import { ROUTES } from '../routes.ts'
import { announce, Announcer } from '../ui/announce.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { useKeys } from '../ui/keys.ts'
import { en } from '../words/en.ts'
import { Bar } from './bar.tsx'
import { OfflineBanner } from './offline-banner.tsx'
import { Rail } from './rail.tsx'
import './shell.css'

const KeysDialog = lazy(async () => ({ default: (await import('./keys-dialog.tsx')).KeysDialog }))
const Live = lazy(async () => ({ default: (await import('./live.tsx')).Live }))

type Overlay = 'keys' | 'conversations' | null

export function Shell({ children }: { children: ReactNode }) {
  const [path, navigate] = useLocation()
  const [overlay, setOverlay] = useState<Overlay>(null)
  const waiting = useWaiting()
  usePageTitle(en.name)
  useWaitingCount(waiting)
  useAnnouncedArrivals(waiting)
  useAnnouncedPage(path)
  const closeOverlay = (): void => setOverlay(null)
  useKeys([
    { keys: 'g h', label: en.keys.home, run: () => navigate(ROUTES.home) },
    { keys: 'g a', label: en.keys.approvals, run: () => navigate(ROUTES.approvals) },
    { keys: 'c', label: en.keys.create, run: () => navigate(ROUTES.create) },
    { keys: '/', label: en.keys.filter, run: () => focusFilter(() => setOverlay('conversations')) },
    { keys: '?', label: en.keys.help, run: () => setOverlay('keys') },
  ])
  const showKeys = (): void => setOverlay('keys')
  return (
    <div className="shell">
      <a className="skip" href="#content" onClick={() => document.getElementById('content')?.focus()}>
        {en.skip}
      </a>
      <Rail waiting={waiting} onShowKeys={showKeys} />
      <Bar waiting={waiting} onShowConversations={() => setOverlay('conversations')} />
      <div className="shell-main">
        <OfflineBanner />
        <Suspense fallback={null}>
          <Live />
        </Suspense>
        <main id="content" tabIndex={-1} className="content">
          {children}
        </main>
      </div>
      {overlay === 'keys' && (
        <Suspense>
          <KeysDialog onClose={closeOverlay} />
        </Suspense>
      )}
      {overlay === 'conversations' && (
        <Dialog title={en.rail.conversations} form="sheet" onClose={closeOverlay}>
          <Rail waiting={waiting} onShowKeys={showKeys} onNavigate={closeOverlay} isSheet />
        </Dialog>
      )}
      <Announcer />
    </div>
  )
}

/** Focuses the filter of the rail where it is visible. */
function focusFilter(otherwise: () => void): void {
  const filter = document.querySelector<HTMLInputElement>('.rail .rail-filter input')
  if (filter !== null && filter.checkVisibility()) filter.focus()
  else otherwise()
}

function useAnnouncedArrivals(waiting: number): void {
  const before = useRef(0)
  useEffect(() => {
    if (waiting > before.current) announce(en.approvals.arrived(waiting), 'assertive')
    before.current = waiting
  }, [waiting])
}

/** Says the name of a page after a navigation inside of the document, which screen readers do not notice. */
function useAnnouncedPage(path: string): void {
  const title = useShownTitle()
  const first = useRef(path)
  useEffect(() => {
    if (first.current !== path) announce(title)
  }, [path, title])
}
