/** What the commands of the agent print, as it comes, and commands of the person beside them. */
import { useLayoutEffect, useMemo, useRef, useState } from 'react'
import { textOf, membersOf } from '../../log/read.ts'
import { directoryOf, type State } from '../../log/state.ts'
import { useConversationState, useView } from '../../timeline/context.ts'
import { Button } from '../../ui/button.tsx'
import { Search } from '../../ui/icons.ts'
import { terminal as words } from '../../words/terminal.en.ts'
import type { TabProps } from '../tabs.ts'
import { useAgentCommands } from './agent-commands.ts'
import { AgentBlock, OwnBlock } from './blocks.tsx'
import { FoundLines } from './found.tsx'
import { itemsOf } from './items.ts'
import { useOwnCommands } from './own-commands.ts'
import { Prompt } from './prompt.tsx'
import './terminal.css'

/** Commands of the agent that are shown at first, and for each further request. */
const COUNT = 30
/** Pixels from the end within which growth keeps the end in view. */
const END_PX = 40

const isRemote = (state: State) => textOf(membersOf(state['workspace'])['kind']) === 'RemoteWorkspace'

export function TerminalTab({ id }: TabProps) {
  const { conversation, canAct } = useView()
  const [count, setCount] = useState(COUNT)
  const [sought, setSought] = useState('')
  const { shown, before, problem, retry } = useAgentCommands(conversation, count)
  const isElsewhere = useConversationState(isRemote)
  const canRun = canAct && !isElsewhere
  const { commands, run } = useOwnCommands(id, useConversationState(directoryOf), canRun)
  const items = useMemo(() => {
    // Earlier ones in this directory belong to other conversations.
    const begun = conversation.log.entries[0]?.at ?? 0
    const since = commands.filter(({ at }) => at >= begun)
    return itemsOf(shown, since, before === 0, conversation.log.event)
  }, [shown, commands, before, conversation])
  const scroller = useFollowedEnd()
  return (
    <div className="terminal">
      <div className="terminal-find">
        <Search size={14} aria-hidden />
        <input
          type="search"
          aria-label={words.find}
          placeholder={words.find}
          spellCheck={false}
          value={sought}
          onChange={(event) => setSought(event.target.value)}
        />
      </div>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls is reached with the keyboard */}
      <div ref={scroller} className="terminal-scroll" role="region" aria-label={words.output} tabIndex={0}>
        <div className="terminal-content">
          {before > 0 && (
            <Button size="small" onClick={() => setCount(count + COUNT)}>
              {words.earlier(Math.min(before, COUNT))}
            </Button>
          )}
          {problem !== '' && (
            <p className="problem" role="alert">
              {problem}{' '}
              <button type="button" className="text-button" onClick={retry}>
                {words.again}
              </button>
            </p>
          )}
          {sought.trim() !== '' ? (
            <FoundLines items={items} sought={sought.trim()} />
          ) : items.length === 0 ? (
            <div className="panel-empty">
              <p>{words.empty}</p>
              <p>{words.emptyText}</p>
            </div>
          ) : (
            items.map((item) =>
              item.type === 'agent' ? (
                <AgentBlock key={item.key} row={item.row} />
              ) : (
                <OwnBlock key={item.key} own={item.own} />
              ),
            )
          )}
        </div>
      </div>
      <div className="terminal-own">
        {canRun && <Prompt history={commands.map(({ command }) => command)} onRun={(command) => void run(command)} />}
        <p className="note">{canRun ? words.note : isElsewhere ? words.remote : words.readOnly}</p>
      </div>
    </div>
  )
}

/** An element whose end stays in view while its content grows, unless the person has scrolled away from it. */
function useFollowedEnd() {
  const scroller = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return undefined
    let isAtEnd = true
    const toEnd = () => {
      if (isAtEnd) element.scrollTop = element.scrollHeight
    }
    const onScroll = () => {
      isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight <= END_PX
    }
    element.addEventListener('scroll', onScroll, { passive: true })
    const observer = new ResizeObserver(toEnd)
    observer.observe(element)
    if (element.firstElementChild !== null) observer.observe(element.firstElementChild)
    toEnd()
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', onScroll)
    }
  }, [])
  return scroller
}
