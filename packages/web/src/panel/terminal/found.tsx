/** The lines of the shown commands that contain a text. */
import { useMemo } from 'react'
import type { Row } from '../../log/rows.ts'
import { textOf } from '../../log/read.ts'
import { plainOf } from '../../text/ansi-runs.ts'
import { callOf } from '../../timeline/call.ts'
import { useView } from '../../timeline/context.ts'
import { terminal as words } from '../../words/terminal.en.ts'
import { matchesIn, partsOf } from './matches.ts'
import type { Item } from './items.ts'

type Found = { key: string; command: string; lines: ReturnType<typeof matchesIn> }

export function FoundLines({ items, sought }: { items: readonly Item[]; sought: string }) {
  const { log } = useView().conversation
  const found = useMemo(() => items.flatMap((item) => foundIn(item, sought, log.event)), [items, sought, log])
  const count = found.reduce((total, { lines }) => total + lines.count, 0)
  return (
    <div className="terminal-found">
      <p className="note" role="status">
        {count === 0 ? words.noMatch : words.matches(count)} {words.ofLoaded(items.length)}
      </p>
      {found.map(({ key, command, lines }) => (
        <section key={key}>
          <p className="terminal-command">$ {command}</p>
          <ol>
            {lines.lines.map(({ line, text }) => (
              <li key={line}>
                <span className="terminal-number">{line}</span>
                <code>
                  {partsOf(text, sought).map((part, index) =>
                    // The parts of a line do not move.
                    // oxlint-disable-next-line react/no-array-index-key
                    part.isSought ? <mark key={index}>{part.text}</mark> : part.text,
                  )}
                </code>
              </li>
            ))}
          </ol>
          {lines.count > lines.lines.length && (
            <p className="note">{words.moreMatches(lines.count - lines.lines.length)}</p>
          )}
        </section>
      ))}
    </div>
  )
}

function foundIn(
  item: Item,
  sought: string,
  eventOf: (seq: number) => Parameters<typeof callOf>[0] | undefined,
): Found[] {
  const { key } = item
  const { command, output } = item.type === 'own' ? item.own : agentText(item.row, eventOf)
  const lines = matchesIn(`${command}\n${plainOf(output)}`, sought)
  return lines.count === 0 ? [] : [{ key, command: command.split('\n')[0] ?? '', lines }]
}

function agentText({ seq, answer }: Row, eventOf: (seq: number) => Parameters<typeof callOf>[0] | undefined) {
  const event = eventOf(seq)
  if (event === undefined) return { command: '', output: '' }
  const { action, output } = callOf(event, eventOf(answer))
  return { command: textOf(action['command']), output }
}
