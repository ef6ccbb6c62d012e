package etw

// fileOpcodes are the names of the event types of FileIo events.
var fileOpcodes = map[uint32]string{
	64: "CreateFile",
	65: "Cleanup",
	66: "Close",
	67: "ReadFile",
	68: "WriteFile",
	69: "SetInformation",
	70: "DeleteFile",
	71: "RenameFile",
	72: "DirectoryEnumeration",
	73: "Flush",
	74: "QueryFileInformation",
	75: "FilesystemControlEvent",
	76: "EndOperation",
	77: "DirectoryNotification",
	79: "DeletePath",
	80: "RenamePath",
	83: "FltRead",
	84: " FltWrite", // the space is Trace Processor's
	85: "FltSetInfo",
	86: "FltQueryInfo",
}

// Values of FILE_INFORMATION_CLASS that decide what extra information means.
const (
	dispositionInformation = 13
	allocationInformation  = 19
	endOfFileInformation   = 20
)

// infoClasses are the names of FILE_INFORMATION_CLASS, from 1 on.
var infoClasses = [...]string{
	"FileDirectoryInformation",
	"FileFullDirectoryInformation",
	"FileBothDirectoryInformation",
	"FileBasicInformation",
	"FileStandardInformation",
	"FileInternalInformation",
	"FileEaInformation",
	"FileAccessInformation",
	"FileNameInformation",
	"FileRenameInformation",
	"FileLinkInformation",
	"FileNamesInformation",
	"FileDispositionInformation",
	"FilePositionInformation",
	"FileFullEaInformation",
	"FileModeInformation",
	"FileAlignmentInformation",
	"FileAllInformation",
	"FileAllocationInformation",
	"FileEndOfFileInformation",
	"FileAlternateNameInformation",
	"FileStreamInformation",
	"FilePipeInformation",
	"FilePipeLocalInformation",
	"FilePipeRemoteInformation",
	"FileMailslotQueryInformation",
	"FileMailslotSetInformation",
	"FileCompressionInformation",
	"FileObjectIdInformation",
	"FileCompletionInformation",
	"FileMoveClusterInformation",
	"FileQuotaInformation",
	"FileReparsePointInformation",
	"FileNetworkOpenInformation",
	"FileAttributeTagInformation",
	"FileTrackingInformation",
	"FileIdBothDirectoryInformation",
	"FileIdFullDirectoryInformation",
	"FileValidDataLengthInformation",
	"FileShortNameInformation",
	"FileIoCompletionNotificationInformation",
	"FileIoStatusBlockRangeInformation",
	"FileIoPriorityHintInformation",
	"FileSfioReserveInformation",
	"FileSfioVolumeInformation",
	"FileHardLinkInformation",
	"FileProcessIdsUsingFileInformation",
	"FileNormalizedNameInformation",
	"FileNetworkPhysicalNameInformation",
	"FileIdGlobalTxDirectoryInformation",
	"FileIsRemoteDeviceInformation",
	"FileUnusedInformation",
	"FileNumaNodeInformation",
	"FileStandardLinkInformation",
	"FileRemoteProtocolInformation",
	"FileRenameInformationBypassAccessCheck",
	"FileLinkInformationBypassAccessCheck",
	"FileVolumeNameInformation",
	"FileIdInformation",
	"FileIdExtdDirectoryInformation",
	"FileReplaceCompletionInformation",
	"FileHardLinkFullIdInformation",
	"FileIdExtdBothDirectoryInformation",
	"FileDispositionInformationEx",
	"FileRenameInformationEx",
	"FileRenameInformationExBypassAccessCheck",
	"FileDesiredStorageClassInformation",
	"FileStatInformation",
	"FileMemoryPartitionInformation",
	"FileStatLxInformation",
	"FileCaseSensitiveInformation",
	"FileLinkInformationEx",
	"FileLinkInformationExBypassAccessCheck",
	"FileStorageReserveIdInformation",
	"FileCaseSensitiveInformationForceAccessCheck",
	"FileKnownFolderInformation",
	"FileStatBasicInformation",
	"FileId64ExtdDirectoryInformation",
	"FileId64ExtdBothDirectoryInformation",
	"FileIdAllExtdDirectoryInformation",
	"FileIdAllExtdBothDirectoryInformation",
}

// infoClassName returns the name of a FILE_INFORMATION_CLASS, or "" if it has none.
func infoClassName(class uint32) string {
	if class == 0 || class > uint32(len(infoClasses)) {
		return ""
	}
	return infoClasses[class-1]
}
