/** One row of the timeline by its type. */
import { memo } from 'react'
import type { Item } from './items.ts'
import { MessageRow, PendingRow } from './message.tsx'
import { ErrorRow, FoldedRow, MarkRow } from './other-rows.tsx'
import { StartRow } from './start-phases.tsx'
import { StreamingRow, WorkingRow } from './streaming.tsx'
import { ToolRow } from './tool-row.tsx'
import './row.css'

export const RowContent = memo(function RowContent({ item }: { item: Item }) {
  switch (item.type) {
    case 'pending':
      return <PendingRow message={item.message} />
    case 'streaming':
      return <StreamingRow />
    case 'working':
      return <WorkingRow since={item.since} />
    case 'row':
      return <LoggedRow row={item.row} />
  }
})

function LoggedRow({ row }: { row: Extract<Item, { type: 'row' }>['row'] }) {
  switch (row.type) {
    case 'message':
      return <MessageRow row={row} />
    case 'tool':
      return <ToolRow row={row} />
    case 'mark':
      return <MarkRow row={row} />
    case 'error':
      return <ErrorRow row={row} />
    case 'start':
      return <StartRow row={row} />
    default:
      return <FoldedRow row={row} />
  }
}
