/** What the files of the workspace differ in from a commit, for a review. */
import { useState } from 'react'
import type { EventLog } from '../../log/event-log.ts'
import { listOf, membersOf, textOf } from '../../log/read.ts'
import { useView } from '../../timeline/context.ts'
import { Loading, Failure } from '../../ui/listing.tsx'
import { changes as words } from '../../words/changes.en.ts'
import type { TabProps } from '../tabs.ts'
import { ChangesBar } from './bar.tsx'
import { type Comparison, useChanges, useDirectory } from './data.ts'
import { ChangeList } from './list.tsx'
import { HandOffDialog } from './hand-off.tsx'
import { useViewed } from './viewed.ts'
import './changes.css'

export function ChangesTab({ id }: TabProps) {
  const { directory, isRemote } = useDirectory()
  const [comparison, setComparison] = useState<Comparison>('branch')
  const [isSplit, setSplit] = useState(false)
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const [isViewed, toggleViewed] = useViewed(id)
  const { list, isRepository } = useChanges(comparison)
  const [isHandingOff, setHandingOff] = useState(false)
  const { conversation, canAct } = useView()
  const files = list.data
  if (isRemote) return <Nothing title={words.remote} text={words.remoteText} />
  if (files === undefined && list.error !== null)
    return (
      <div className="changes-failure">
        <Failure error={list.error} onRetry={() => void list.refetch()} />
      </div>
    )
  if (files === undefined || directory === null || (files.length === 0 && isRepository === null)) return <Loading />
  if (files.length === 0 && isRepository === false)
    return <Nothing title={words.noRepository} text={words.noRepositoryText} />
  return (
    <div className="changes">
      <ChangesBar
        files={files}
        viewed={files.filter(isViewed).length}
        comparison={comparison}
        onCompare={setComparison}
        onHandOff={canAct ? () => setHandingOff(true) : null}
        isSplit={isSplit}
        onSplit={setSplit}
        isAllOpen={files.length > 0 && files.every(({ path }) => open.has(path))}
        onOpenAll={(all) => setOpen(new Set(all ? files.map(({ path }) => path) : []))}
      />
      {isHandingOff && <HandOffDialog suggestion={taskOf(conversation.log)} onClose={() => setHandingOff(false)} />}
      {files.length === 0 ? (
        <Nothing title={words.none} text={words.noneText[comparison]} />
      ) : (
        <ChangeList
          files={files}
          open={open}
          onOpen={setOpen}
          isSplit={isSplit}
          isViewed={isViewed}
          onViewed={(file) => {
            toggleViewed(file)
            if (!isViewed(file)) setOpen(new Set([...open].filter((path) => path !== file.path)))
          }}
        />
      )}
    </div>
  )
}

/** The first line of the first message of the user, when it is loaded. */
function taskOf(log: EventLog): string {
  const first = log.rows().find(({ type, from }) => type === 'message' && from === 'user')
  const content = listOf(membersOf(log.event(first?.seq ?? 0)?.['llm_message'])['content'])
  return (textOf(membersOf(content[0])['text']).split('\n')[0] ?? '').slice(0, 72)
}

function Nothing({ title, text }: { title: string; text: string }) {
  return (
    <div className="panel-empty">
      <p>{title}</p>
      <p>{text}</p>
    </div>
  )
}
